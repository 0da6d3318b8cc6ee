"""The benchmark of engines: counts that differ end it, what is missing is named, the plot is a picture."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.peers import tools
from bench.peers.instances import M2, SMALL, Counts, Instance
from bench.peers.tools import Failed, Missing, Tool

from bench import engines

PAN = """
(Spin Version 6.5.2 -- 6 December 2019)
{search}
State-vector 44 byte, depth reached 271, errors: {errors}
  2684798 states, stored
  8561900 states, matched
 11246698 transitions (= stored+matched)
   52.001\tshared memory used for hash table (-w22)
    0.500\ttotal non-shared memory usage

  144.500\ttotal shared memory usage

pan: elapsed time 3.94 seconds
"""

TOO_DEEP = "error: max search depth too small\n" + PAN.format(search="Full statespace search", errors=0)


def tool(name: str, **wrong: int) -> Tool:
    """One that prints the expected counts, but for those given."""

    def prepare(instance: Instance, folder: Path) -> list[str]:
        counts = instance.counts
        told = {"distinct": counts.distinct, "generated": counts.generated, "depth": counts.depth, **wrong}
        told |= {"seconds": 0.5, "peak_kib": 2048, "violated": []}
        return [sys.executable, "-c", f"print('''{json.dumps(told)}''')"]

    return Tool(name, "Stateright", 1, prepare, tools._stateright_reading, lambda instance: True)


def printing(text: str) -> str:
    """What --peer is given for a tool that prints this."""
    return f"mine={sys.executable} -c 'print(\"{text}\")' {{N}} {{ND}}"


def absent(instance: Instance, folder: Path) -> list[str]:
    raise Missing("no such program; install it")


Bench = Callable[..., int]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    """Runs the command with other tools on the small instance."""

    def run(*those: Tool, more: tuple[str, ...] = ()) -> int:
        monkeypatch.setattr(engines, "TOOLS", those)
        return engines.main(["--instance", "small", "--rounds", "1", "--out", str(tmp_path), *more])

    return run


def test_figures_are_printed_and_written(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = Tool("C", "Spin", 1, absent, tools._spin_reading, lambda instance: True)
    report, plot = tmp_path / "a.json", tmp_path / "docs" / "a.svg"
    assert (
        bench(tool("A"), tool("B, 2 threads"), missing, more=("--json", str(report), "--plot", str(plot)))
        == 0
    )
    printed = capsys.readouterr().out
    assert "not there: C: no such program; install it" in printed
    row = next(one for one in json.loads(report.read_text())["rows"] if one["tool"] == "A")
    assert row["distinct"] == 130_768
    assert row["states_per_second"] == 261_536
    assert row["bytes_per_state"] == pytest.approx(16.0, abs=0.1)
    names = {element.text for element in ElementTree.fromstring(plot.read_text()).iter()}
    assert {"A", "B, 2 threads", "distinct states"} <= names


@pytest.mark.parametrize("name", ["distinct", "generated", "depth"])
def test_a_count_that_differs_ends_it(bench: Bench, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert bench(tool("A"), tool("B", **{name: 7})) == 1
    assert f"bench: B on small: {name} is 7 and must be" in capsys.readouterr().err


def test_a_tool_that_fails_ends_it(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    broken = Tool("A", "Spin", 1, lambda instance, folder: [sys.executable, "-c", "exit('no memory')"],
                  tools._spin_reading, lambda instance: True)  # fmt: skip
    assert bench(broken) == 1
    assert "A on small: exit 1: ['no memory']" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("printed", "rate"),
    [
        ("distinct=130768 generated=471322 seconds=0.5", 261_536),
        ("distinct: 130768, generated: 471322", None),
    ],
)
def test_any_tool_takes_part(bench: Bench, tmp_path: Path, printed: str, rate: int | None) -> None:
    report = tmp_path / "a.json"
    assert bench(tool("A"), more=("--json", str(report), "--peer", printing(printed))) == 0
    row = json.loads(report.read_text())["rows"][1]
    assert (row["tool"], row["distinct"], row["depth"]) == ("mine", 130_768, None)
    # One that does not tell seconds is timed with all that it needs to start.
    assert row["states_per_second"] == rate if rate else 0.001 < row["seconds"] < 60


def test_a_tool_that_takes_part_has_its_counts_and_a_command(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(tool("A"), more=("--peer", printing("distinct=7 generated=471322"))) == 1
    assert bench(tool("A"), more=("--peer", printing("distinct=130768"))) == 1
    told = capsys.readouterr().err
    assert "mine on small: distinct is 7" in told
    assert "mine on small: it does not say generated" in told
    with pytest.raises(SystemExit):
        bench(tool("A"), more=("--peer", "mine"))


def test_a_tool_that_takes_too_long_is_ended(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    forever = [sys.executable, "-c", "import time; time.sleep(60)"]
    slow = Tool("A", "Spin", 1, lambda instance, folder: forever, tools._spin_reading, lambda instance: True)
    assert bench(slow, more=("--limit", "0.2")) == 1
    assert "took more than 0.2 s" in capsys.readouterr().err


def test_what_spin_prints_is_read() -> None:
    depth = tools._spin_reading(PAN.format(search="Full statespace search", errors=0))
    assert (depth.counts, depth.seconds, depth.peak_kib) == (Counts(2_684_798, 11_246_698, None), 3.94, None)
    breadth = tools._spin_reading(PAN.format(search="+ Breadth-First Search", errors=0))
    assert breadth.counts.depth == 271
    assert breadth.peak_kib == 145 * 1024
    for bad in (PAN.format(search="", errors=1), TOO_DEEP, "killed"):
        with pytest.raises(Failed):
            tools._spin_reading(bad)


def test_every_tool_of_ours_names_real_options(tmp_path: Path) -> None:
    for one in tools.TOOLS:
        if one.family == "rota" and not one.orbits:
            assert "bench.kgroup:kgroup" in one.prepare(M2 if one.fits(M2) else SMALL, tmp_path)
