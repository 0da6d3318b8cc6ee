"""The libraries' own suites: what is heard of their tests, which speak to a broker, and the tables."""

import sys

import pytest
from bench.libraries.__main__ import without_failed
from bench.libraries.page import BEGIN, page, sorted_out
from bench.libraries.playing import Place, leaves, play
from bench.libraries.reach import reaching
from bench.libraries.suites import SUITES

TARGETS = ("rota", "kafka-4.4.0")

SCRIPT = """
import json, os, sys, time
for name in sys.argv[1:]:
    print(json.dumps({"Action": "run", "Test": name}), flush=True)
    print("a line that is no event", flush=True)
    if name == "dies": os._exit(2)
    if name == "hangs": time.sleep(600)
    for part, how in (("one", "pass"), ("two", "fail")) if name == "has parts" else ():
        print(json.dumps({"Action": how, "Test": f"{name}/{part}"}), flush=True)
    how = {"fails": "fail", "has parts": "fail", "skips": "skip"}.get(name, "pass")
    print(json.dumps({"Action": how, "Test": name, "Output": name}), flush=True)
"""


def command(names):
    return (sys.executable, "-c", SCRIPT, *names)


def heard(tmp_path, *names):
    return play(names, command, Place(tmp_path, {}), silence=1.0)


def test_each_test_ends_somehow(tmp_path):
    found = heard(tmp_path, "passes", "fails", "skips")
    assert found.ended == {"passes": "pass", "fails": "fail", "skips": "skip"}
    assert "a line that is no event\n" in found.printed


@pytest.mark.parametrize("culprit", ["dies", "hangs"])
def test_who_ends_the_process_has_failed_and_the_others_go_on(culprit, tmp_path):
    assert heard(tmp_path, "passes", culprit, "fails", "last").ended == {
        "passes": "pass",
        culprit: "fail",
        "fails": "fail",
        "last": "pass",
    }


def test_of_several_that_run_when_it_dies_the_one_that_does_it_alone_has_failed(tmp_path):
    script = tmp_path / "side_by_side.py"
    script.write_text(
        "import json, os, sys\n"
        "say = lambda how, name: print(json.dumps({'Action': how, 'Test': name}), flush=True)\n"
        "for name in sys.argv[1:]: say('run', name)\n"
        "if 'dies' in sys.argv: os._exit(2)\n"
        "for name in sys.argv[1:]: say('pass', name)\n"
    )
    place = Place(tmp_path, {})
    found = play(("a", "dies", "b"), lambda names: (sys.executable, str(script), *names), place, 5)
    assert found.ended == {"a": "pass", "dies": "fail", "b": "pass"}


def test_a_test_with_subtests_counts_by_them(tmp_path):
    found = leaves(heard(tmp_path, "has parts").ended)
    assert found == {"has parts/one": "pass", "has parts/two": "fail"}
    assert leaves({"t": "fail", "t/a": "pass"}) == {"t": "fail", "t/a": "pass"}


def test_a_second_time_counts_with_all_below(tmp_path):
    first = heard(tmp_path, "passes", "has parts")
    second = heard(tmp_path, "passes")
    second.ended = {"has parts": "pass", "has parts/one": "pass"}
    found = first.again(["has parts"], second)
    assert found.ended == {"passes": "pass", "has parts": "pass", "has parts/one": "pass"}
    assert found.printed[: len(first.printed)] == first.printed


GO = """
func seeds() string {
	return os.Getenv("SEEDS")
}

func (c *client) open() {
	connect(seeds())
}

func TestSpeaks(t *testing.T) {
	c.open()
}

func TestAlone(t *testing.T) {
	reopened := 1
}
"""


def test_a_test_that_reaches_the_broker_is_found(tmp_path):
    file = tmp_path / "a_test.go"
    file.write_text(GO)
    assert reaching([file], "SEEDS") == ["TestSpeaks"]
    assert reaching([file], "NOWHERE") == []


OURS = {"a": "pass", "b": "fail", "c": "pass", "d": "fail", "e": "skip", "f": "fail"}
THEIRS = {"a": "pass", "b": "pass", "c": "fail", "d": "fail", "e": "pass", "f/1": "pass", "f/2": "fail"}


def test_tests_are_sorted_by_where_they_pass():
    found = sorted_out({"rota": OURS, "kafka-4.4.0": THEIRS}, TARGETS)
    assert found == {
        "both": ["a"],
        "kafka": ["b", "f/1"],
        "rota": ["c"],
        "neither": ["d", "f/2"],
        "skipped": ["e"],
    }


def test_the_page_keeps_its_head_and_names_what_differs():
    results = {"franz-go": {"rota": OURS, "kafka-4.4.0": THEIRS}, "sarama": {"rota": OURS}}
    text = page(f"# Title\n\nwords\n{BEGIN}\nold", results, TARGETS)
    assert text.startswith("# Title\n\nwords\n" + BEGIN)
    assert "old" not in text
    assert f"| franz-go | {SUITES['franz-go'].version} |" in text
    assert "| 1 | 2 | 1 | 2 | 1 |" in text
    kafka_alone = text.partition("What passes on Kafka and not on rota")[2].partition("##")[0]
    assert "| franz-go | `b` |" in kafka_alone
    assert "sarama" not in text


def test_events_of_pytest_are_heard(tmp_path):
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_a(): pass\n"
        "def test_b(): assert False\n"
        "@pytest.fixture\n"
        "def broken(): raise ValueError\n"
        "def test_c(broken): pass\n"
        "@pytest.mark.skip\n"
        "def test_d(): pass\n"
    )
    suite = SUITES["kafka-python"]
    place = Place(tmp_path, {"PYTHONPATH": suite.environment["PYTHONPATH"]})
    names = [f"test_some.py::test_{letter}" for letter in "abcd"]
    found = play(names, suite.command, place, 30)
    assert [found.ended[name] for name in names] == ["pass", "fail", "fail", "skip"]


def test_what_failed_is_played_again_with_all_that_is_below_it():
    ended = {
        "A": "fail",
        "A/b": "fail",
        "A/c": "pass",
        "AB": "pass",
        "t/x.py::b": "fail",
        "t/x.py::c": "pass",
    }
    assert without_failed(ended) == {"AB": "pass", "t/x.py::c": "pass"}
