"""`rota conform --clients`: a verdict on each performance, explained, with an exit code."""

import json
import xml.etree.ElementTree as ET

import pytest

from harness.clients.meddler import BUGS, Meddler
from rota.cli import conform_clients
from rota.cli.errors import run
from rota.cli.main import main
from rota.clients import judging
from rota.clients.history import Event, History, told
from rota.clients.judging import Outcome, UnknownScenario, exit_code, selected
from rota.clients.performances import Case
from rota.conformance.results import Verdict
from rota.server import running


@pytest.fixture
def conform(tmp_path, capsys, monkeypatch):
    """Runs the command in an empty folder; its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def conform(*arguments):
        code = run(lambda: main(["conform", "--clients", *arguments], standalone_mode=False))
        return code, capsys.readouterr()

    return conform


def test_clients_of_rotas_own_server_see_nothing_wrong(conform, tmp_path):
    pytest.importorskip("confluent_kafka")
    code, said = conform("--embedded", "seeks", "librdkafka", "--report", "junit=clients.xml")
    assert code == 0
    assert "pass        seeks" in said.out
    assert said.out.splitlines()[-1].startswith("conforms: rota as real clients see it: 1 pass")
    suite = ET.parse(tmp_path / "clients.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "0")


def test_a_broker_that_forgets_commits_is_found(conform, tmp_path):
    pytest.importorskip("confluent_kafka")
    settings = {"group.initial.rebalance.delay.ms": 0}
    with running(settings) as address, Meddler(address, BUGS["commits are forgotten"]) as broker:
        code, said = conform(
            "--target", broker.address, "newcomer_continues", "librdkafka", "range", "--json"
        )
    found = json.loads(said.out)
    (played,) = found["performances"]
    assert (code, found["exit_code"], found["verdict"], played["verdict"]) == (1, 1, "violated", "fail")
    assert "where offset 3 is next" in played["why"][0]
    assert played["second_attempt"]
    text = (tmp_path / "rota-out/clients-newcomer_continues-librdkafka-range.txt").read_text()
    assert " assigned " in text
    assert played["why"][0] in text


def test_what_has_no_topics_is_unsupported(conform):
    pytest.importorskip("confluent_kafka")
    code, said = conform("--target", "librdkafka-mock", "seeks", "librdkafka")
    assert code == 3
    assert "unsupported: it has no CreateTopics" in said.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("seks",), 2, "no scenario, client or assignor is called 'seks'; there are first_is_killed"),
        (("seeks", "mixed"), 5, "no performance has all of what is named"),
        (("--strict",), 2, "--strict is for judging one target; leave it out with --clients"),
        (("--report", "html=x.html"), 2, "there is no html report of clients; there are json, junit"),
        (("--target", "127.0.0.1:1"), 3, "nothing listens at 127.0.0.1:1"),
    ],
)
def test_what_cannot_be_is_told(arguments, code, says, conform, monkeypatch):
    monkeypatch.setattr(conform_clients, "installed", lambda: ["librdkafka"])
    target = () if "--target" in arguments else ("--target", "rota")
    ended, said = conform(*target, *arguments)
    assert ended == code
    assert says in said.err


def test_scenarios_are_listed(conform):
    code, said = conform("--list")
    assert code == 0
    assert "rolling_restart\n    Each of three is replaced in turn" in said.out


def test_performances_are_selected_by_all_that_is_named():
    assert {case.group for case in selected(["kafka-python"])} == {"kafka-python"}
    chosen = selected(["rolling_restart", "third_joins", "roundrobin"])
    assert {(case.scenario, case.assignor) for case in chosen} == {
        ("rolling_restart", "roundrobin"),
        ("third_joins", "roundrobin"),
    }
    with pytest.raises(UnknownScenario):
        selected(["rolling"])


def test_the_explanation_ends_where_the_history_begins():
    history = History()
    history.add(Event(1.0, "A-librd", "assigned", 3, "id", {"partitions": frozenset({("t", 0)})}))
    failure = f"0.250 A-librd: sees t/0@1\nwaited 2 s in vain until it ends\n{told(history.events())}"
    assert judging._explained(failure) == ("0.250 A-librd: sees t/0@1", "waited 2 s in vain until it ends")


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([], 5),
        ([Verdict.PASS, Verdict.UNSUPPORTED], 0),
        ([Verdict.UNSUPPORTED], 3),
        ([Verdict.PASS, Verdict.UNDECIDED], 3),
        ([Verdict.UNDECIDED, Verdict.FAIL], 1),
    ],
)
def test_exit_codes_are_those_of_conform(verdicts, code):
    assert exit_code([Outcome(Case("seeks", "librdkafka"), verdict) for verdict in verdicts]) == code
