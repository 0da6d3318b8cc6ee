"""Families of cases: their ids, their scenes, who asks in them, and what a report says of who failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rota.cli.conform import conform
from rota.conformance.catalogue import all_cases, cases_by_name, select
from rota.conformance.dialogues.dialogue import Dialogue, Member
from rota.conformance.dialogues.registry import CASES
from rota.conformance.dialogues.script import Case, Level
from rota.conformance.families.axes import MEMBERS, Kind, Phase, Role, State
from rota.conformance.families.family import FAMILIES, family, for_each
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import EVERYWHERE, STABLE, Situation
from rota.conformance.families.values import newer_generations, older_generations
from rota.conformance.results import CaseResult, Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.steps.administration import describe
from rota.conformance.steps.version_ranges import DESCRIBE
from rota.conformance.targets.grammar import parse_target
from rota.coordinator import Group, GroupState, heartbeat

Versions = Mapping[str, tuple[int, int]]

BELOW = "heartbeat.illegal-generation.below"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(conform, list(arguments))


def case_of(id: str, play: Callable[[Dialogue], None], needs: Versions) -> Case:
    """A case that is registered nowhere."""
    usual: dict[str, Any] = {"rule": "heartbeat.alive", "level": Level.MUST, "sentence": "", "source": ""}
    delay = 3000 if id.startswith(Phase.FIRST.slug) else 300
    return Case(id=id, play=play, needs=needs, initial_delay_ms=delay, **usual)


def played(play: Callable[[Dialogue], None], needs: Versions | None = None) -> CaseResult:
    """What becomes of a dialogue of no case's."""
    return played_together([case_of("here", play, needs or {})])["here"]


def played_together(cases: Sequence[Case]) -> dict[str, CaseResult]:
    letter = parse_target("rota", profile="kafka-4.x")
    return {result.case.id: result for result in play_all(cases, letter, Options(seed=1, patience=2), {})}


def test_ids_continue_their_family_or_are_known() -> None:
    for name, parts in FAMILIES.items():
        for part in parts:
            case = CASES[part.id]
            assert case.family == name
            assert case.situation == part.words
            assert case.rule == CASES[parts[0].id].rule


def test_a_family_is_one_line_and_selects_all_its_cases() -> None:
    cases = cases_by_name()[BELOW]
    assert [case.id for case in select(all_cases(), [BELOW])] == list(cases)
    listed = run("--list", "heartbeat.illegal-generation").stdout
    assert f"{BELOW} ({len(cases)} cases)" in listed
    assert listed.count(BELOW) == 1
    shown = run("--show", BELOW).stdout
    assert "heartbeat.illegal-generation.older: Stable, one dynamic member\n" in shown
    assert shown.count("requirement") == 1


def planted_generation_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers of two or more may say any generation while assignments are awaited."""
    original = heartbeat.heartbeat

    def lenient(step: Any, group: Group, request: Any) -> Any:
        if group.state is GroupState.COMPLETING_REBALANCE and request.member_id != group.leader:
            request = replace(request, generation_id=group.generation_id)
        return original(step, group, request)

    monkeypatch.setattr(heartbeat, "heartbeat", lenient)


def test_a_report_says_which_case_of_a_family_failed_and_who_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    planted_generation_check(monkeypatch)
    two = f"{BELOW}.completing-two-dynamic"
    ids = ["heartbeat.illegal-generation.older", f"{BELOW}.completing-one-dynamic", two]
    outcome = run("--embedded", "--seed", "1", "--out", str(tmp_path), "--json", *ids)
    told = {case["id"]: case for case in json.loads(outcome.stdout)["cases"]}
    assert [told[id]["verdict"] for id in ids] == ["pass", "pass", "fail"]
    where = "where a follower asks (CompletingRebalance, two dynamic members, nobody has synced)"
    assert where in told[two]["expected"]
    assert told[two]["requirement"].endswith(
        "Here: CompletingRebalance, two dynamic members, nobody has synced."
    )


def test_a_list_of_known_failures_may_name_a_family(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listed = tmp_path / "known.toml"
    listed.write_text(f'[[known]]\nid = "{BELOW}"\nreason = "why"\nlink = ""\n', encoding="utf-8")
    ids = [f"{BELOW}.completing-two-dynamic", "heartbeat.illegal-generation.older"]
    common = ("--embedded", "--seed", "1", "--out", str(tmp_path), "--strict", "--known", str(listed))
    passing = run(*common, *ids)
    assert (passing.exit_code, f"passes, though known to fail: {BELOW};" in passing.stdout) == (1, True)
    planted_generation_check(monkeypatch)
    failing = run(*common, *ids)
    assert failing.exit_code == 0
    assert f"known: {ids[0]}: why" in failing.stdout
    again = run(*common[:-3], "--write-known", str(listed), *ids)
    assert f"{listed}: 0 new, 1 kept as they were" in again.stderr


def test_every_scene_is_in_its_state() -> None:
    seen: dict[str, tuple[str, int, int, int, bool]] = {}

    def look(situation: Situation) -> Callable[[Dialogue], None]:
        def play(d: Dialogue) -> None:
            scene = situation.reach(d)
            (group,) = describe(d)["groups"]
            statics = sum("group_instance_id" in member.settings for member in scene.everyone)
            told = group["group_state"], len(group["members"])
            seen[situation.slug] = (*told, len(scene.everyone), statics, bool(scene.former))

        return play

    cases = [case_of(each.slug, look(each), {**each.needs, **DESCRIBE}) for each in EVERYWHERE]
    assert {result.verdict for result in played_together(cases).values()} == {Verdict.PASS}
    for each in EVERYWHERE:
        state = "Dead" if each.state is State.NO_GROUP else str(each.state)
        number = each.number if each.phase.has_members else 0
        statics = sum(each.kind.has_static(place) for place in range(number))
        described = number + (each.phase is Phase.CALLED) + (each.phase is Phase.FIRST)
        assert seen[each.slug] == (state, described, number, statics, each.has(Role.FORMER)), each.slug


def test_who_asks_says_the_truth_of_the_group() -> None:
    def play(d: Dialogue) -> None:
        scene = Situation(Phase.CALLED, 2, Kind.DYNAMIC, again=True).reach(d)
        for role in Role:
            for asker in scene.askers(role):
                assert (asker.generation_id, asker.protocol_name) == (scene.generation, "range"), role
        assert len(scene.askers(Role.FOLLOWER)) == 1
        assert len(scene.askers(Role.PENDING)) == 1
        assert scene.askers(Role.NEWCOMER)[0].member_id
        assert min(newer_generations(scene)) == scene.generation + 1
        assert max(older_generations(scene)) == scene.generation - 1

    assert played(play, {"JoinGroup": (4, 9)}).verdict is Verdict.PASS


def test_a_group_that_a_question_disturbs_fails_the_case() -> None:
    def play(d: Dialogue) -> None:
        scene = STABLE[0].reach(d)
        d.member("b").enter().silent(0.2)
        scene.undisturbed()

    result = played(play)
    assert result.verdict is Verdict.FAIL
    assert "whom no question must disturb" in result.expected


@pytest.mark.parametrize(
    ("phase", "number", "kind", "again"),
    [
        (Phase.NEVER, 1, Kind.DYNAMIC, False),
        (Phase.STABLE, 0, Kind.DYNAMIC, False),
        (Phase.SYNCING, 1, Kind.DYNAMIC, False),
        (Phase.FIRST, 1, Kind.DYNAMIC, True),
        (Phase.HANDED_OUT, 0, Kind.STATIC, False),
        (Phase.STABLE, 4, Kind.DYNAMIC, False),
    ],
)
def test_situations_that_cannot_be_are_refused(phase: Phase, number: int, kind: Kind, again: bool) -> None:
    with pytest.raises(ValueError, match=r"needs|no second one|no members"):
        Situation(phase, number, kind, again)


@contextmanager
def nothing_registered() -> Iterator[None]:
    """What is registered within is forgotten afterwards."""
    cases, families = dict(CASES), dict(FAMILIES)
    try:
        yield
    finally:
        for registry, before in ((CASES, cases), (FAMILIES, families)):
            registry.clear()
            registry.update(before)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"situations": [Situation(Phase.NEVER)]}, "nobody is there to ask"),
        ({"situations": []}, "no case"),
        ({"known_as": {"nowhere": "heartbeat.alive.x"}}, "has no case"),
        (
            {"needs": {"JoinGroup": (0, 3)}, "situations": STABLE[2:3]},
            "versions of JoinGroup",
        ),
    ],
)
def test_families_that_cannot_be_are_refused(changes: dict[str, Any], words: str) -> None:
    usual: dict[str, Any] = {"situations": STABLE, "asked_by": MEMBERS}
    with nothing_registered(), pytest.raises(ValueError, match=words):
        family("heartbeat.alive.here", "It is.", "#", **{**usual, **changes})(lambda scene, member: None)


def test_values_make_a_family_too() -> None:
    heard: list[int] = []
    with nothing_registered():
        for_each("heartbeat.alive.here", "It is.", "#", {"one": 1, "two": 2})(
            lambda d, value: heard.append(value)
        )
        cases = [case for case in CASES.values() if case.family == "heartbeat.alive.here"]
    for case in cases:
        case.play(None)  # type: ignore[arg-type]
    assert [(case.id, case.situation) for case in cases] == [
        ("heartbeat.alive.here.one", "one"), ("heartbeat.alive.here.two", "two"),
    ]  # fmt: skip
    assert heard == [1, 2]


def test_a_family_is_registered_once() -> None:
    def ask(scene: Scene, member: Member) -> None:
        """Nothing."""

    with nothing_registered():
        make = family("heartbeat.alive.here", "It is.", "#", situations=STABLE, asked_by=MEMBERS)
        make(ask)
        with pytest.raises(ValueError, match="is a family already"):
            family("heartbeat.alive.here", "It is.", "#", situations=STABLE, asked_by=MEMBERS)
