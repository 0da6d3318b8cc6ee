"""The page about planted bugs: what each is, how soon the machine finds it, the dialogue that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rota.mutants.core import CoreBug
from rota.oracle.hunt import Finding
from rota.oracle.walk import OUT_OF_REACH

ITSELF, AMONG, TRIED, OTHER = "itself", "used by it", "tried before", "nowhere"

HEAD = """# Bugs planted in the coordinator

Each rule of the spec that the lockstep machine judges has at least one bug in rota's coordinator
(`core_bugs.toml` and `offset_bugs.toml` in `kit/rota/mutants`). The machine finds every one: requests of
several members with right and wrong fields, timers and answers of the log go to coordinator and spec side by
side, in virtual time, and after every step answers, timers, records and the visible state must be those of
one of the steps that the spec allows. What it found is made shorter until nothing can be left out; the
dialogue that remains is what a report prints.

This page is written by `python tests/oracle/pin.py`. The machine makes the same examples every time (with
the same version of Hypothesis), of up to {steps} actions each.

- *Examples*: tried until the bug was found, the last one included.
- *Steps*: of the shortened dialogue.
- *Reported by*: the rule of the spec that the report names. Where it is not the bug's own, *own rule* says
  where the report has that one: among the rules that the named one used, among those tried before it (they
  do not apply, but the coordinator acts as if they did), or nowhere.
"""


def where_named(bug: CoreBug, finding: Finding) -> str:
    """Where the report has the bug's own rule."""
    found = finding.divergence
    if found.rule == bug.rule:
        return ITSELF
    if bug.rule in found.rules:
        return AMONG
    return TRIED if bug.rule in found.passed else OTHER


BY_DIALOGUES = """
## Bugs that dialogues find

What the spec leaves open, or no group alone can show. A dialogue of the coordinator's own tests notices each.
"""

BESIDE = """
## Beside members

Offsets, transactions of offsets, the administration and expiry have a machine of their own, which does all
that the other does, too. Out of its reach, and why:

{out_of_reach}
"""


def page(
    findings: Sequence[Finding],
    beside: Sequence[Finding],
    by_dialogues: Sequence[CoreBug],
    shown: Iterable[str],
    steps: int,
) -> str:
    """The page.

    Parameters: findings, of the machine of members; beside, of the other; by_dialogues, the bugs that neither
    looks for; shown, names of bugs whose reports are given in full; steps, of an example, at most.
    """
    others = (_out_of_reach(), *_summary(beside), *_table(beside))
    tables = (*_summary(findings), *_table(findings), *others, *_dialogues(by_dialogues))
    return "\n".join((HEAD.format(steps=steps), *tables, *_reports(findings, shown)))


def _out_of_reach() -> str:
    lines = (f"- `{slug}`: {why}." for slug, why in OUT_OF_REACH.items())
    return BESIDE.format(out_of_reach="\n".join(lines))


def _dialogues(bugs: Sequence[CoreBug]) -> Iterator[str]:
    yield BY_DIALOGUES
    yield "| rule | bug | dialogue |"
    yield "|---|---|---|"
    for bug in bugs:
        file, _, test = bug.dialogue.partition("::")
        told = f"{test.replace('_', ' ')} (test_coordinator_{file}.py)"
        yield f"| `{bug.rule}` | {bug.name}: {_cell(bug.meaning)} | {told} |"


def _summary(findings: Sequence[Finding]) -> Iterator[str]:
    rules = {finding.bug.rule for finding in findings}
    examples = sorted(finding.examples for finding in findings)
    steps = sorted(finding.steps for finding in findings)
    own = sum(where_named(finding.bug, finding) == ITSELF for finding in findings)
    yield (
        f"{len(findings)} bugs for {len(rules)} rules; "
        f"examples: {examples[len(examples) // 2]} in the median, {examples[-1]} at most; "
        f"steps: {steps[len(steps) // 2]} in the median, {steps[-1]} at most. "
        f"{own} are reported by their own rule."
    )
    yield ""


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    yield "| rule | bug | what differed | examples | steps | reported by | own rule |"
    yield "|---|---|---|---|---|---|---|"
    for finding in findings:
        bug, found = finding.bug, finding.divergence
        named = where_named(bug, finding)
        reported = ("", "") if named == ITSELF else (f"`{found.rule}`", named)
        what = _cell(found.headline.rpartition(" [")[0])
        cells = (f"`{bug.rule}`", f"{bug.name}: {_cell(bug.meaning)}", what, finding.examples, finding.steps)
        yield f"| {' | '.join(map(str, (*cells, *reported)))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _reports(findings: Sequence[Finding], shown: Iterable[str]) -> Iterator[str]:
    by_name = {finding.bug.name: finding for finding in findings}
    yield ""
    yield "## Some reports in full"
    for finding in [by_name[name] for name in shown if name in by_name]:
        yield ""
        yield f"### {finding.bug.name}"
        yield ""
        yield finding.bug.meaning
        yield ""
        yield "```text"
        yield str(finding.divergence)
        yield "```"
    yield ""
