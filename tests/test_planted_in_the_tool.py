"""Mistakes planted in the tool itself: each makes it lie, and each is noticed.

A row plants one mistake and does what the suite, or a user, does anyway; it must be quiet without the
mistake and speak with it. Mistakes in the protocol are mutants (`rota.mutants`). More of the tool's own are
planted beside the tests of each part: test_verdicts, test_damage, test_purity and test_cluster_judged
in tests/explore, and tests/conformance/test_planted_in_the_kit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys
from click.testing import CliRunner

from rota.cli.main import main
from rota.explore import CheckpointError, Limits, Verdict, reference
from rota.explore.cache import store
from rota.explore.checkpoint import Checkpoint
from rota.explore.fast import numpy_search, search
from rota.explore.fast.shard import Owner
from rota.explore.tables import system as tables
from rota.explore.tables.arrays import Flags, Ints
from rota.explore.tables.properties import CheckGroup, Judge
from rota.kernel import encoding
from rota.mutants import system as world
from rota.report import check_model
from rota.scopes import load

Plant = Callable[[pytest.MonkeyPatch], None]
Notice = Callable[[Path], str]
"""What is noticed, in words; nothing where all is well."""


# ---- what notices


def engines_agree(_: Path) -> str:
    """The fast and the numpy engine against the reference, counts of judgements included."""
    for name in ("ring", "channel", "supposing", "broken-safety"):
        wanted = reference.explore(toys.ALL[name]())
        for explore in (numpy_search.explore, search.explore):
            if explore(toys.ALL[name]()).answer != wanted.answer:
                return f"{name} has another answer"
    return ""


def counts_are_pinned(_: Path) -> str:
    """A configuration against the digest that its scope states."""
    core = load("tiny").configuration("core")
    result = reference.explore(world(core.settings_for("kafka-4.x")))
    return "" if result.digest == (core.expected or {})["digest"] else "the digest is another"


def an_ended_search_goes_on(folder: Path) -> str:
    """Half a search, and the rest of it, against the whole."""
    place = folder / "search"
    search.explore(toys.ring(4), Limits(max_states=30, checkpoint=place))
    try:
        rest = search.explore(toys.ring(4), Limits(checkpoint=place, resume=True))
    except CheckpointError as error:
        return str(error)
    return "" if rest.answer == reference.explore(toys.ring(4)).answer else "the rest is another"


def a_violation_is_told(folder: Path) -> str:
    """Exit code, last line and report of a run that finds something, and of one that does not."""
    asked = ["check", "--system", "ticket_office:office", "--engine", "reference", "--out", str(folder)]
    fine = CliRunner().invoke(main, asked)
    bad = CliRunner().invoke(main, [*asked, "--set", "fault=tickets.differ"])
    report = json.loads((folder / "check.json").read_text(encoding="utf-8"))
    said = (fine.exit_code, bad.exit_code, bad.stdout.splitlines()[-1].split(":")[0], report["verdict"])
    return "" if said == (0, 1, "violated", "violated") and report["violation"] else f"it says {said}"


def a_changed_source_is_another_system(folder: Path) -> str:
    """A system before and after a change of its module, with tables that are kept."""
    answers = []
    for bound in (2, 3):
        limits = Limits(cache=folder / "tables")
        answers.append(search.explore(toys.counters(2, bound), limits))
    kept = answers[1].stats["cache"]["entries_from_cache"]
    if answers[1].answer != reference.explore(toys.counters(2, 3)).answer:
        return "the answer is the one from before the change"
    return (
        "tables of before were used, or found to be wrong"
        if kept or "notes" in answers[1].stats["cache"]
        else ""
    )


# ---- what is planted


def a_state_is_not_saved(patch: pytest.MonkeyPatch) -> None:
    """Of a level's states all are counted and all but one are written."""
    save = Checkpoint.save

    def saved(self: Checkpoint, layout: Any, levels: Any, *rest: Any) -> None:
        short = [[array[: len(array) - (len(array) > 1)] for array in arrays] for arrays in levels]
        save(self, layout, short, *rest)

    patch.setattr(Checkpoint, "save", saved)


def a_property_is_dropped(patch: pytest.MonkeyPatch) -> None:
    add = CheckGroup.add

    def added(self: CheckGroup, answers: Any, arguments: Any) -> None:
        if answers.prop.name not in ("order", "odd", "broken"):
            add(self, answers, arguments)

    patch.setattr(CheckGroup, "add", added)


def a_property_is_taken_for_granted(patch: pytest.MonkeyPatch) -> None:
    def fine(self: CheckGroup, a: Ints, b: Ints) -> list[Flags]:
        return [np.ones(len(a), np.bool_) for _ in self.checks]

    patch.setattr(CheckGroup, "_answers", fine)


def a_premise_is_taken_for_granted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Judge, "counts", lambda self: {
        prop.name: (len(answers), len(answers)) for prop, answers in self.answers.items() if prop.counted
    })  # fmt: skip


def a_block_is_expanded_twice(patch: pytest.MonkeyPatch) -> None:
    blocks = tables.blocks

    def repeated(*bounds: int) -> Iterator[tuple[int, int]]:
        every = list(blocks(*bounds))
        return iter([*every, *every[:1]])

    patch.setattr(numpy_search, "blocks", repeated)


def a_block_is_lost(patch: pytest.MonkeyPatch) -> None:
    absorb = Owner.absorb
    patch.setattr(Owner, "absorb", lambda self, incoming: absorb(self, incoming[: max(1, len(incoming) - 1)]))


def a_field_is_not_encoded(patch: pytest.MonkeyPatch) -> None:
    parts_of = encoding.parts_of
    patch.setattr(encoding, "parts_of", lambda value: parts_of(value)[:-1])


def a_failure_is_swallowed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(check_model.Report, "verdict", property(lambda self: check_model.HOLDS))


def a_failure_is_nobodys(patch: pytest.MonkeyPatch) -> None:
    """The engine finds it, and it does not reach the report."""
    explored = check_model.Explored
    patch.setattr(
        "rota.cli.checking.Explored",
        lambda job, result: explored(job, toys.replace(result, violation=None, verdict=Verdict.HOLDS)),
    )
    patch.setattr("rota.cli.checking.Checking._traces", lambda self, systems: iter(()))


def tables_are_not_renewed(patch: pytest.MonkeyPatch) -> None:
    """What names the file of a system's tables says nothing of its settings, nor of its sources."""
    patch.setattr(store.Identity, "key", property(lambda self: "the same"))


TABLE: dict[str, tuple[Plant, Notice]] = {
    "a checkpoint skips a state": (a_state_is_not_saved, an_ended_search_goes_on),
    "an engine drops a property": (a_property_is_dropped, engines_agree),
    "an engine judges nothing": (a_property_is_taken_for_granted, engines_agree),
    "an engine counts every premise as true": (a_premise_is_taken_for_granted, engines_agree),
    "a worker repeats a block": (a_block_is_expanded_twice, engines_agree),
    "a worker loses what it was sent": (a_block_is_lost, engines_agree),
    "an encoding forgets a field": (a_field_is_not_encoded, counts_are_pinned),
    "a report swallows a failure": (a_failure_is_swallowed, a_violation_is_told),
    "a failure does not reach the report": (a_failure_is_nobodys, a_violation_is_told),
    "a cache is not renewed": (tables_are_not_renewed, a_changed_source_is_another_system),
}


@pytest.mark.parametrize("mistake", TABLE)
def test_a_mistake_in_the_tool_is_noticed(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, notice = TABLE[mistake]
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "systems"))
    assert notice(tmp_path / "before") == "", "something else is wrong"
    with monkeypatch.context() as patch:
        plant(patch)
        try:
            said = notice(tmp_path / "after")
        except Exception as error:  # the tool may also refuse to go on
            said = f"{type(error).__name__}: {error}"
    assert said, f"nobody notices that {mistake}"
