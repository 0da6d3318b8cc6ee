"""The tables of docs/libraries.md: what passes where, by the results that are kept, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.libraries.playing import FAIL, PASS, SKIP
from bench.libraries.reasons import REASONS
from bench.libraries.suites import SUITES

Results = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Suite → target → test → how it ended."""

BEGIN = "<!-- Written by `make test-libraries`; do not edit from here. -->"
_KINDS = {
    (PASS, PASS): "both",
    (FAIL, PASS): "kafka",
    (PASS, FAIL): "rota",
    (FAIL, FAIL): "neither",
}
KINDS = ("both", "kafka", "rota", "neither", "skipped")


def sorted_out(results: Mapping[str, Mapping[str, str]], targets: Sequence[str]) -> dict[str, list[str]]:
    """The tests of a suite by where they pass; `targets` are rota and Kafka.

    A test that is skipped on one of them is skipped. One that never began on one of them, since a test above
    it had failed, counts as failed there.
    """
    ours, theirs = (results[target] for target in targets)
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in sorted({*ours, *theirs}):
        if _above(name, ours, theirs):
            continue
        here, there = ours.get(name, FAIL), theirs.get(name, FAIL)
        kind = "skipped" if SKIP in (here, there) else _KINDS[here, there]
        found[kind].append(name)
    return found


def _above(name: str, *results: Mapping[str, str]) -> bool:
    """Whether the other broker came to tests below this one, which then stand for it."""
    return any(other.startswith(f"{name}/") for result in results for other in result)


def page(text: str, results: Results, targets: Sequence[str]) -> str:
    """The page, with its head as it is and its tables anew."""
    head = text.partition(BEGIN)[0]
    return head + "\n".join((BEGIN, "", *_tables(results, targets))) + "\n"


def _tables(results: Results, targets: Sequence[str]) -> Iterator[str]:
    sides = {
        name: sorted_out(found, targets) for name, found in results.items() if len(found) == len(targets)
    }
    yield "| library | version | what | on both | Kafka alone | rota alone | neither | skipped |"
    yield "|---|---|---|---:|---:|---:|---:|---:|"
    for name, side in sides.items():
        counts = " | ".join(str(len(side[kind])) for kind in KINDS)
        yield f"| {name} | {SUITES[name].version} | {SUITES[name].about} | {counts} |"
    yield from _section("What passes on Kafka and not on rota", "kafka", sides)
    yield from _section("What passes on rota and not on Kafka", "rota", sides)
    yield from _section("What passes on neither", "neither", sides)


def _section(title: str, kind: str, sides: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    if not any(side[kind] for side in sides.values()):
        yield "Nothing."
        return
    yield from ("| library | test | why |", "|---|---|---|")
    for name, side in sides.items():
        for test in side[kind]:
            yield f"| {name} | `{test}` | {REASONS.get(name, {}).get(test, '')} |".replace("  |", " |")
