"""Other ways to the state that a case needs, tried where the usual one fails, as long as there is hope."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

from rota.conformance.dialogues.script import Script
from rota.conformance.dialogues.ways import OTHERS, Way
from rota.conformance.results import DialogueResult, Ending

TRIES = 3
"""So many cases try a way to mend what failed; if it helps none of them, it is not tried any more."""

_FORMING = ("join", "static", "sync")
"""Parts of the rules by which a group forms: what else fails is the same in every way."""


class Detours:
    """Remembers, in one run, which ways have helped. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_vain: Counter[tuple[str, str]] = Counter()
        self._helped: set[tuple[str, str]] = set()

    def around(self, script: Script, failed: DialogueResult) -> Iterator[Way]:
        """The ways that are worth a try where the usual one failed, or took so long that the kit was late."""
        broken = failed.prerequisite if failed.ending is Ending.SETUP_FAILED else ""
        for way in OTHERS:
            key = failed.prerequisite, way.name
            fits = broken.split(".")[0] in _FORMING or (failed.late and not way.one_by_one)
            if fits and way.differs(script.needs, failed.versions, script.spare):
                with self._lock:
                    hopeless = key not in self._helped and self._in_vain[key] >= TRIES
                if not hopeless:
                    yield way

    def note(self, failed: DialogueResult, way: Way, helped: bool) -> None:
        """What came of a way."""
        key = failed.prerequisite, way.name
        with self._lock:
            if helped:
                self._helped.add(key)
            else:
                self._in_vain[key] += 1
