"""The pytest plugin, in sessions of pytest within this one: cases as tests, and a broker in hand."""

import subprocess
import sys

import pytest

from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.script import Level

pytest_plugins = ["pytester"]

PLUGIN = ("-p", "no:rota", "-p", "rota.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers")
"""By its module, whether or not its entry point is installed."""

NO_GROUP = "heartbeat.unknown-member.no-group"

DEAF = """
import pytest
from rota.coordinator import Effects, GroupCoordinator
from rota.coordinator.messages import HeartbeatReply
from rota.server import running


class AllIsWell(GroupCoordinator):
    def heartbeat(self, request, version, token):
        effects = super().heartbeat(request, version, token)
        return effects._replace(replies=((token, HeartbeatReply(0)),))


@pytest.fixture(scope="session")
def rota_target():
    with running({"group.initial.rebalance.delay.ms": 0}, coordinator=AllIsWell) as address:
        yield address
"""
"""A target that the tests start themselves: every heartbeat is answered without an error."""


@pytest.fixture
def judged(pytester, monkeypatch):
    """Runs pytest on that target."""
    pytester.makeconftest(DEAF)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        return pytester.runpytest_inprocess(
            *PLUGIN, "--rota-set", "group.initial.rebalance.delay.ms=0", *arguments
        )

    return run


def test_nothing_of_the_kit_is_imported_unless_it_is_used():
    script = "import sys, rota.pytest_plugin; print(sorted(name for name in sys.modules if 'rota.' in name))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['rota.pytest_plugin']"


def test_a_case_that_deviates_fails_with_its_dialogue(judged):
    result = judged("--rota-cases", f"{NO_GROUP},heartbeat.alive.stable")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            f"FAIL {NO_GROUP} (MUST)",
            "  requirement  A heartbeat *",
            "  expected     Heartbeat answered with error UNKNOWN_MEMBER_ID (25)*",
            "  actual       Heartbeat  NONE",
            "  dialogue",
            "*→ Heartbeat v4*",
            f"  again        rota conform --target 127.0.0.1:* {NO_GROUP}",
        ]
    )
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("option", "expression", "chosen"),
    [
        ("-m", "heartbeat.unknown-member", {"heartbeat.unknown-member"}),
        ("-m", "rota and sync and MUST", {"sync.unknown-member"}),
        ("-k", "no-group", {"heartbeat.unknown-member", "sync.unknown-member"}),
    ],
)
def test_cases_are_chosen_by_marks_and_by_names(option, expression, chosen, judged):
    rules = "heartbeat.unknown-member,sync.unknown-member"
    result = judged("--rota-cases", rules, option, expression, "--co", "-q")
    ids = [line.removeprefix("rota::") for line in result.outlines if line.startswith("rota::")]
    cases = [
        case for case in all_cases() if case.rule in chosen and (option == "-m" or "no-group" in case.id)
    ]
    assert cases
    assert set(ids) == {case.id for case in cases if case.level is Level.MUST}


def test_a_known_failure_is_expected(judged, pytester):
    known = pytester.path / "known.toml"
    entry = '[[known]]\nid = "{}"\nreason = "see the tracker"\n'
    known.write_text(entry.format(NO_GROUP) + entry.format("heartbeat.alive.stable"))
    chosen = ("--rota-cases", f"{NO_GROUP},heartbeat.alive.stable", "--rota-known", str(known))
    result = judged(*chosen, "-rx")
    result.assert_outcomes(xfailed=1, xpassed=1)
    result.stdout.fnmatch_lines([f"XFAIL rota::{NO_GROUP} - see the tracker"])
    judged(*chosen, "-o", "xfail_strict=true").assert_outcomes(xfailed=1, failed=1)


def test_what_cannot_be_judged_is_skipped_with_the_reason(judged):
    result = judged("--rota-cases", "expiry.empty-group", "-rs")
    outcomes = result.parseoutcomes()
    assert set(outcomes) == {"skipped"}
    result.stdout.fnmatch_lines(["SKIPPED*needs *"])


def test_a_target_that_is_not_there(pytester):
    result = pytester.runpytest_inprocess(
        *PLUGIN, "--rota-target", "127.0.0.1:1", "--rota-cases", "heartbeat.alive"
    )
    assert set(result.parseoutcomes()) == {"errors"}
    result.stdout.fnmatch_lines(["*rota: nothing listens at 127.0.0.1:1*"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--rota-cases", "heartbeet"), "no case, rule or part is called 'heartbeet'; did you mean"),
        (("--rota-cases", "all", "--rota-known", "none.toml"), "cannot read *none.toml*check the path"),
    ],
)
def test_what_was_misspelt_is_told_before_anything_is_played(pytester, arguments, says):
    result = pytester.runpytest_inprocess(*PLUGIN, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{says}*"])


def test_without_a_target_the_remedy_is_told(pytester):
    result = pytester.runpytest_inprocess(*PLUGIN, "--rota-cases", "heartbeat.alive")
    result.stdout.fnmatch_lines(["*no target; give --rota-target*"])


TESTS = """
import pytest


def test_a_broker_in_hand(rota_broker):
    rota_broker.create_topic("orders")
    assert rota_broker.groups() == {}


@pytest.mark.rota_broker({"group.max.size": "many"})
def test_a_setting_that_cannot_be(rota_broker):
    pass


def test_the_target_is_started(rota_address):
    assert rota_address.startswith("127.0.0.1:")
"""


def test_fixtures(pytester):
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\nrota_target = rota\n")
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*group.max.size*many*"])
