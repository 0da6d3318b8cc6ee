"""The plots of the benchmarks: SVG with every line's name, the same bytes again, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.herd_plot import Curve
from bench.herd_plot import svg as herd_svg
from bench.peers.plot import Line, Style, chart

from bench import engines, figure, herd, spark, spark_plot

SVG = "{http://www.w3.org/2000/svg}"
LINES = (
    Line("fast & wide", Style("#c0392b"), ((1e5, 2e6), (1e6, 3e6))),
    Line("slow", Style("#1f618d", dashed=True), ((1e5, 2e3), (1e6, 3e3), (1e7, 4e3))),
)
CURVES = (Curve("watchers", "n^1.67", ((2, 14), (64, 4600))), Curve("classic", "n^0.96", ((2, 7), (64, 190))))
MAINS = {"engines": engines, "spark": spark, "herd": herd}


def texts(svg: str) -> list[str]:
    """What is written in a picture, in its order."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def lines(svg: str, colour: str) -> list[str]:
    """The paths of lines of this colour that go somewhere."""
    paths = ElementTree.fromstring(svg).iter(f"{SVG}path")
    return [path.attrib["d"] for path in paths
            if "L" in path.attrib["d"] and f"stroke: {colour}" in path.attrib.get("style", "")
            and "stroke-width: 2" in path.attrib["style"]]  # fmt: skip


def heights(path: str) -> list[float]:
    """The vertical coordinates of a path, downwards."""
    return [float(y) for y in path.split()[2::3]]


def test_every_line_is_drawn_and_named_the_fastest_first() -> None:
    svg = chart(LINES)
    assert texts(svg)[-2:] == ["fast & wide", "slow"]
    assert texts(chart(LINES[::-1]))[-2:] == ["fast & wide", "slow"]
    assert {"distinct states", "distinct states per second", "1 million", "10 thousand"} <= set(texts(svg))
    drawn = lines(svg, "#1f618d")[0]
    assert len(heights(drawn)) == 3
    assert all(before > after for before, after in pairwise(heights(drawn)))


def test_what_a_change_costs() -> None:
    svg = herd_svg([("requests", CURVES), ("assignments", CURVES[:1])])
    said = texts(svg)
    assert [said.count(name) for name in ("watchers, n^1.67", "classic, n^0.96")] == [2, 1]
    assert [said.count(name) for name in ("requests", "assignments", "members", "10,000")] == [1, 1, 2, 2]
    assert len(lines(svg, "#c0392b")) == 2


def test_ways_on_spark() -> None:
    def measured(way: str, states: int) -> dict[str, object]:
        end = {"distinct": states, "seconds": 10.0}
        return {"way": {"name": way}, "subject": {"kgroup": [2]}, "group": "main", "end": end}

    done = [measured(way, states) for way in ("strict", "naive") for states in (10**5, 10**6)]
    assert texts(spark_plot.plot(done))[-2:] == ["Spark, Spark's exchange", "naive RDD design"]
    assert spark_plot.plot([]) == ""


def test_the_same_picture_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where matplotlib is set up otherwise."""
    import matplotlib

    before = chart(LINES), herd_svg([("requests", CURVES)])
    with matplotlib.rc_context({"lines.linestyle": "dotted", "font.size": 30, "axes.facecolor": "black"}):
        assert (chart(LINES), herd_svg([("requests", CURVES)])) == before
    assert not any("<dc:date>" in one or "matplotlib.org" in one for one in before)


@pytest.mark.parametrize(
    ("name", "more"), [("engines", ["--plot"]), ("spark", ["--plot"]), ("herd", ["--docs"])]
)
def test_without_matplotlib_nothing_is_measured(
    name: str,
    more: Sequence[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def measure(*_: object) -> None:
        raise AssertionError("measured although it cannot be drawn")

    monkeypatch.setattr(figure, "can_draw", lambda: False)
    monkeypatch.setattr(MAINS[name], "measure", measure)
    try:
        code = MAINS[name].main([*more, str(tmp_path / "plot")])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert "pip install 'rota[bench]'" in capsys.readouterr().err
