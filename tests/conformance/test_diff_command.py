"""`rota conform --diff A B`: what counts as a difference, exit codes, what it prints and writes."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.slow_target import Relayed
from rota.cli.conform import conform
from rota.conformance.catalogue import all_scripts, select
from rota.conformance.comparison import compare as under_test
from rota.conformance.comparison.compare import CutShort, Likeness, compare
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.script import Probe
from rota.conformance.results import Ending, NotChecked
from rota.conformance.runner import Options
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.remote import Embedded
from rota.conformance.targets.target import Target
from rota.report.difference import Comparison, as_json, as_text, side_by_side
from rota.report.events import INTERRUPTED
from rota.server import running
from rota.wire import decode_request, encode_response, frame

SAME = "heartbeat.alive.stable"
OTHER = "heartbeat.unknown-member.no-group"
"""A case that librdkafka's mock answers in its own way."""

JOIN_GROUP = 11
"""The key of the API."""

FULL = "join.group-max-size-reached.first-step"
"""A case that needs a setting."""


def run(tmp_path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(conform, ["--out", str(tmp_path), "--diff", *arguments])


def other() -> Target:
    """rota's server again, but told from the first by its initial delay."""
    delay = {INITIAL_DELAY: 0}
    return Target("other", lambda _: Embedded(delay), fresh=True, parallel=8, known=delay)


def probe(name: str, remark: Callable[[Dialogue], str]) -> Probe:
    return Probe(
        id=name, sentence="Says.", source="none", play=lambda d: d.remark(remark(d)), initial_delay_ms=300
    )


def test_the_same_twice(tmp_path: Path) -> None:
    outcome = run(tmp_path, "rota", "rota", "heartbeat.alive", "voting.tie.range-or-sticky")
    assert outcome.exit_code == 0, outcome.output
    number = len(select(all_scripts(), ["heartbeat.alive", "voting.tie.range-or-sticky"]))
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith(f"rota conform --diff: rota and rota, {number} dialogues, seed ")
    assert f"same: rota and rota: no difference in {number} dialogues (" in lines[-1]
    assert list(tmp_path.iterdir()) == []


def test_a_difference_is_printed_and_written_side_by_side(tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    outcome = run(tmp_path, "rota", "librdkafka-mock", SAME, OTHER)
    assert outcome.exit_code == 1
    for text in (
        f"DIFFERS {OTHER} (MUST)\n",
        "  sentence         A heartbeat with an id that is no member's is answered UNKNOWN_MEMBER_ID",
        '  after            stranger → Heartbeat v4  generation -1  member_id "never-handed-out"\n',
        "  rota             stranger ← Heartbeat  UNKNOWN_MEMBER_ID (25)\n",
        "  librdkafka-mock  stranger ← Heartbeat  GROUP_ID_NOT_FOUND (69)\n",
        "  rule             heartbeat.unknown-member\n",
        f"  again            rota conform --diff rota librdkafka-mock {OTHER}\n",
        "different: rota and librdkafka-mock: 1 of 2 dialogues differs (",
    ):
        assert text in outcome.stdout
    assert f"DIFFERS {SAME}" not in outcome.stdout
    written = (tmp_path / "diff-rota-librdkafka-mock.txt").read_text()
    row, *_ = [line for line in written.splitlines() if line.startswith("* stranger ←")]
    assert [cell.strip() for cell in row.split("|")] == [
        "* stranger ← Heartbeat  UNKNOWN_MEMBER_ID (25)",
        "stranger ← Heartbeat  GROUP_ID_NOT_FOUND (69)",
    ]


def test_json_is_one_object_with_both_dialogues(tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    outcome = run(tmp_path, "rota", "librdkafka-mock", "--json", "--seed", "3", SAME, OTHER)
    report = json.loads(outcome.stdout)
    assert (outcome.exit_code, report["schema"], report["verdict"]) == (1, 1, "different")
    assert (report["targets"], report["seed"]) == (["rota", "librdkafka-mock"], 3)
    assert report["counts"] == {"same": 1, "differs": 1, "undecided": 0}
    differing, same = report["dialogues"]
    assert (same["id"], same["verdict"], same["dialogues"]) == (SAME, "same", None)
    left, right = differing["dialogues"]
    assert left[: differing["first_difference"]] == right[: differing["first_difference"]]
    assert left[differing["first_difference"]] == "stranger ← Heartbeat  UNKNOWN_MEMBER_ID (25)"
    assert (differing["kind"], differing["rule"]) == ("case", "heartbeat.unknown-member")


def test_undecided_where_a_target_says_nothing(
    hostile: Callable[[Callable[[socket.socket], None]], Any],
    next_request: Callable[[socket.socket], bytes],
    tmp_path: Path,
) -> None:
    def asleep_after_the_preflight(connection: socket.socket) -> None:
        while (request := decode_request(next_request(connection))).client_id == "rota-preflight":
            ranges = [{"api_key": key, "min_version": 0, "max_version": 4} for key in (11, 12, 13, 14)]
            body = {"api_keys": ranges} if request.api.name == "ApiVersions" else {"error_code": 25}
            answer = encode_response(request.api.name, request.version, body, request.correlation_id)
            connection.sendall(frame(answer))
        connection.recv(1)

    silent = hostile(asleep_after_the_preflight)
    outcome = run(tmp_path, "rota", silent.name, "--timeout", "0.2", "--set", f"{INITIAL_DELAY}=0", SAME)
    assert outcome.exit_code == 3
    assert f"undecided: {SAME}: {silent.name}: no answer to ApiVersions in 0.2 s\n" in outcome.stdout
    assert f"undecided: rota and {silent.name}: no difference in 1 dialogue, 1 undecided (" in outcome.stdout


@pytest.mark.parametrize("option", [("--report", "md=x.md"), ("--known", SAME)])
def test_what_only_judging_has_is_refused(tmp_path: Path, option: tuple[str, str]) -> None:
    outcome = run(tmp_path, "rota", "rota", *option)
    assert outcome.exit_code == 2
    assert f"rota: {option[0]} is for judging one target" in outcome.stderr


def test_quiet_is_one_line(tmp_path: Path) -> None:
    assert run(tmp_path, "rota", "rota", "--quiet", SAME).output.count("\n") == 1


def test_settings_that_cannot_be_chosen_are_not_checked(tmp_path: Path) -> None:
    with running({INITIAL_DELAY: 300}) as address:
        outcome = run(tmp_path, "rota", address, "--set", f"{INITIAL_DELAY}=300", SAME, FULL)
        assert f"not checked: {FULL}: needs group.max.size=2, the target has" in outcome.stdout
        assert "1 dialogue" in outcome.stdout


def test_what_is_drawn_by_lot_is_no_difference_if_it_agrees_once() -> None:
    def lots(d: Dialogue) -> str:
        return "second" if d.initial_delay == 0 and d.group_id.startswith("rota-1-") else "first"

    agreeing = probe("voting.lot.agrees", lots)
    differing = probe("voting.lot.never", lambda d: "right" if d.initial_delay == 0 else "left")
    found = {
        one.script.id: one
        for one in compare([agreeing, differing], parse_target("rota"), other(), Options(seed=1))
    }
    assert found[agreeing.id].likeness is Likeness.SAME
    assert found[agreeing.id].left == found[agreeing.id].right == ("· first",)
    assert found[differing.id].likeness is Likeness.DIFFERS
    assert (found[differing.id].left, found[differing.id].right) == (("· left",), ("· right",))
    assert found[differing.id].endings == (Ending.FINISHED, Ending.FINISHED)


def test_how_soon_a_target_reads_is_no_difference() -> None:
    """Heartbeats overtake the JoinGroup of a newcomer, and are sent again."""

    def slow(settings: Mapping[str, int]) -> Relayed:
        return Relayed(settings, lambda key: 0.2 if key == JOIN_GROUP else 0.0)

    scripts = select(all_scripts(), ["join.prepare-rebalance.new-member"])
    late = Target("slow", slow, fresh=True, parallel=1, settable=True)
    (found,) = compare(scripts, late, parse_target("rota"), Options(seed=1))
    assert (found.likeness, found.plays) == (Likeness.SAME, 1)


@pytest.mark.parametrize(("again", "likeness", "plays"), [(4, Likeness.SAME, 5), (8, Likeness.DIFFERS, 8)])
def test_who_leads_at_first_is_no_difference_if_it_is_ever_the_same(
    again: int, likeness: Likeness, plays: int
) -> None:
    """On the one target another member leads in the first `again` plays."""

    def said(d: Dialogue) -> str:
        play = int(d.group_id.split("-")[1])
        leader = "b" if d.initial_delay == 0 and play <= again else "a"
        d.transcript.formed({leader: "leader"}, 1)
        return f"{leader} leads"

    drawn = probe("voting.lot.leader", said)
    (found,) = compare([drawn], parse_target("rota"), other(), Options(seed=1))
    assert (found.likeness, found.plays) == (likeness, plays)


def test_what_was_compared_is_known_when_somebody_interrupts() -> None:
    options, over = Options(seed=1), Event()
    differing = probe("voting.lot.never", lambda d: "right" if d.initial_delay == 0 else "left")

    def interrupted(d: Dialogue) -> str:
        assert over.wait(10)
        d.wait(0.5)
        options.stop.set()
        d.wait(10)
        return "never"

    def progress(done: int, of: int) -> None:
        if done == 2:
            over.set()

    with pytest.raises(CutShort) as cut:
        compare(
            [differing, probe("voting.lot.long", interrupted)],
            parse_target("rota"),
            other(),
            options,
            progress,
        )
    (found,) = cut.value.compared
    assert (found.script, found.likeness, found.plays) == (differing, Likeness.DIFFERS, 1)
    missing = [NotChecked(probe("voting.lot.long", interrupted), INTERRUPTED)]
    result = Comparison("rota", "other", 1, [found], missing, 2.0, interrupted=True)
    assert result.exit_code == 130
    lines = list(as_text(result, []))
    assert lines[0] == "DIFFERS voting.lot.never in 1 of 3 plays"
    assert "not checked: 1 dialogue: interrupted" in lines
    assert lines[-1] == "interrupted: rota and other: 1 of 1 dialogue differs (2.0 s)"
    assert "voting.lot.never in 1 of 3 plays: Says." in list(side_by_side(result))
    assert json.loads(as_json(result, []))["verdict"] == "interrupted"


def test_both_speak_the_versions_that_both_have(monkeypatch: pytest.MonkeyPatch) -> None:
    real = under_test._ranges

    def without_newest(target: Target, patience: float) -> Mapping[int, tuple[int, int]]:
        return {**real(target, patience), **({12: (0, 2)} if target.name == "other" else {})}

    monkeypatch.setattr(under_test, "_ranges", without_newest)
    spoken: dict[float, int] = {}

    def say(d: Dialogue) -> str:
        spoken[d.initial_delay] = d.versions["Heartbeat"]
        return "the same"

    first = probe("wire.spoken.both", say)
    (found,) = compare([first], parse_target("rota"), other(), Options(seed=1))
    assert found.likeness is Likeness.SAME
    assert spoken[0.3] == 2

    needed = replace(first, needs={"Heartbeat": (4, 4)})
    compare([needed], parse_target("rota"), other(), Options(seed=1))
    assert spoken[0.3] == 4


def test_cases_and_probes_are_selected_alike() -> None:
    assert {script.part for script in select(all_scripts(), ["voting"])} == {"voting"}
    assert [script.id for script in select(all_scripts(), ["voting.tie.range-or-sticky"])] == [
        "voting.tie.range-or-sticky"
    ]
    assert len(select(all_scripts(), ["voting.tie"])) == 4
