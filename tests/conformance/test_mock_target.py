"""The mock cluster inside confluent-kafka deviates from Kafka, and the kit says where."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from rota.cli.conform import conform
from rota.conformance.targets.grammar import parse_target
from rota.generate.reach import reach
from rota.spec import KAFKA_4

pytest.importorskip("confluent_kafka")

BROKEN = {
    "join.member-id-required.id-handed-out": "after 3.",
    "join.unknown-group.refused": "after 3.",
    "join.invalid-session-timeout.too-short": "no answer in 2 s",
    "sync.unknown-member.no-group": "GROUP_ID_NOT_FOUND",
    "sync.leader-assigns.nothing": "INVALID_PARTITIONS",
    "sync.stable.late-follower": "INVALID_REQUEST",
    "heartbeat.unknown-member.no-group": "GROUP_ID_NOT_FOUND",
    "heartbeat.alive.while-completing": "REBALANCE_IN_PROGRESS",
    "leave.unknown-group.refused": "GROUP_ID_NOT_FOUND",
    "static.validate.unknown-instance": "Heartbeat  NONE",
    "static.replaced-in-stable.same-generation": "no answer in 2 s",
    "sync.fenced-instance-id.wrong-id": "UNKNOWN_MEMBER_ID",
    "offsets.unknown-group.before-9": "NONE",
    "offsets.commit.preparing-and-waiting": "REBALANCE_IN_PROGRESS",
    "wire.advertised-versions": "JoinGroup v6: the connection was closed",
}
"""Case → what the mock does, seen on the wire and in librdkafka's source."""

LATE = "join.inconsistent-protocol.no-protocols"

KEPT = (
    "join.next-generation.members-for-leader-only",
    "sync.follower-waits.for-leader",
    "heartbeat.illegal-generation.older",
)
"""Rules that it keeps, here to show that the kit does not blame it for everything."""

DEADLY = "voting.candidates.in-common.last-of-all"


def test_the_mock_breaks_rules_in_many_parts(tmp_path: Path) -> None:
    arguments = ["--target", "librdkafka-mock", "--json", "--seed", "1", "--out", str(tmp_path)]
    outcome = CliRunner().invoke(conform, [*arguments, *BROKEN, *KEPT, LATE, DEADLY])
    report = json.loads(outcome.stdout)
    cases = {case["id"]: case for case in report["cases"]}
    assert (outcome.exit_code, report["verdict"]) == (1, "violated")
    for name, actual in BROKEN.items():
        assert cases[name]["verdict"] == "fail", cases[name]
        assert actual in cases[name]["actual"]
        assert cases[name]["requirement"]
        assert cases[name]["dialogue"]
    assert {cases[name]["verdict"] for name in KEPT} == {"pass"}
    broken = [case for case in cases.values() if case["verdict"] == "fail"]
    assert len({case["rule"] for case in broken}) >= 6
    assert len({case["part"] for case in broken}) >= 3

    # It aborts on members that list their protocols in another order: that ends its process, not this one.
    assert cases[DEADLY]["verdict"] == "died"
    assert "SIGABRT: " in cases[DEADLY]["actual"]
    assert "Assertion" in cases[DEADLY]["actual"]
    # It dies of a list without protocols when its initial delay is over, three seconds later.
    assert cases[LATE]["verdict"] == "died"
    assert "ended with signal SIG" in cases[LATE]["actual"]  # which one depends on what its memory held


def test_walks_find_its_coordinator_though_it_answers_a_new_metadata_wrongly() -> None:
    target = parse_target("librdkafka-mock")
    running = target.start({})
    try:
        found = reach(running.address, target.known, KAFKA_4, 30.0)
    finally:
        running.stop()
    assert found.terms.spoken("JoinGroup")


@pytest.mark.parametrize(
    ("looked_up", "package"),
    [("mock._LOOKED_UP", False), ("()", True), ("mock._LOOKED_UP[:2]", True)],
)
def test_it_starts_without_the_package_around_it_and_with_it_where_it_has_to(
    looked_up: str, package: bool
) -> None:
    """What the extension looks up in its package may be more, or other, in another version."""
    lines = (
        "import sys",
        "from rota.conformance.targets import librdkafka_mock as mock",
        f"mock._LOOKED_UP = {looked_up}",
        "print(bool(mock.start()[2]), hasattr(sys.modules['confluent_kafka'], 'Consumer'))",
    )
    ran = subprocess.run((sys.executable, "-c", "; ".join(lines)), capture_output=True, text=True, timeout=60)
    assert (ran.stdout.split(), ran.returncode) == (["True", str(package)], 0), ran.stderr
