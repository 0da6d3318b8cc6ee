"""Cases of a run that leaves out some of what is alike: the others of a family, and most restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from rota.conformance.dialogues.script import Script


def some(scripts: Iterable[Script], always: Collection[str]) -> list[Script]:
    """Those with ids of `always`, what is no family's, two of each family, and a fourth of the restarts."""
    chosen: list[Script] = []
    met: Counter[str] = Counter()
    for script in scripts:
        sort = "restarts" if script.restarts else getattr(script, "family", "")
        met[sort] += 1
        is_one = met[sort] % 4 == 1 if script.restarts else met[sort] <= 2
        if not sort or is_one or script.id in always:
            chosen.append(script)
    return chosen
