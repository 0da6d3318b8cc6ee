"""The cost of a change: counted right, growing as docs/designs.md says, and that page up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from rota.herd import CHANGES, COUNTS, SUBJECTS, Tally, explored, exponent, simulated

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "designs.md").read_text(encoding="utf-8")


from bench import herd as bench  # noqa: E402

ROWS = bench.rows_in((DOCS / "herd.json").read_text(encoding="utf-8"))


def test_the_page_and_the_plot_are_made_of_the_figures() -> None:
    assert bench.documents(ROWS, PAGE) == {
        path: (DOCS / path).read_text(encoding="utf-8")
        for path in ("herd.json", "images/herd.svg", "designs.md")
    }


def test_the_figures_of_small_groups_come_out_again() -> None:
    again = {(row.design, row.change, row.members): row for row in bench.measure((2, 4), bench.SEEDS)}
    committed = {(row.design, row.change, row.members): row for row in ROWS}
    assert len(again) == 12
    assert {key: committed[key] for key in again} == again


def test_all_sizes_are_there() -> None:
    assert {(row.design, row.change, row.members) for row in ROWS} == {
        (design, change, size) for design in SUBJECTS for change in CHANGES for size in bench.SIZES
    }


def test_the_runs_on_the_page_are_the_shortest() -> None:
    spec = importlib.util.spec_from_file_location("designs_page", Path(__file__).parent / "designs_page.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    assert page.written(PAGE) == PAGE
    assert PAGE.count("<!-- trace: ") == 3
    assert "18  " in PAGE.partition("<!-- trace: watchers lag -->")[2].partition("<!--")[0]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("design", SUBJECTS)
def test_a_walk_is_one_of_all_runs(design: str, change: str) -> None:
    """Every number of random runs lies in the range over all runs, and the ends of the range are met."""
    whole = explored(SUBJECTS[design], 2, change)
    seen = [simulated(SUBJECTS[design], 2, change, seed) for seed in range(30)]
    for name in COUNTS:
        low, high = getattr(whole.least, name), getattr(whole.most, name)
        assert {getattr(one, name) for one in seen} <= set(range(low, high + 1))
    assert whole.least in seen


def test_a_watcher_that_joins_another() -> None:
    """One is notified; both read (ids and each node), and claim their partition, at the least."""
    whole = explored(SUBJECTS["watchers"], 2, "join")
    assert whole.least == Tally(watches=1, requests=6, nodes=2 * 3, rebalances=2)
    assert whole.most == Tally(watches=1, requests=9, nodes=3 * 3, rebalances=3)


@pytest.mark.parametrize(("design", "requests"), [("server-side", 2), ("classic", 3)])
def test_a_coordinator_computes_once(design: str, requests: int) -> None:
    """Joins: whoever is there heartbeats and joins (and syncs); the newcomer asks or is sent away once."""
    whole = explored(SUBJECTS[design], 3, "join")
    assert whole.least == whole.most == Tally(told=2, requests=3 * requests, rebalances=1)


def test_the_same_seed_gives_the_same_run() -> None:
    subject = SUBJECTS["watchers"]
    assert simulated(subject, 6, "join", 7) == simulated(subject, 6, "join", 7)
    assert len({simulated(subject, 6, "join", seed) for seed in range(8)}) > 1


def test_growth_of_what_is_known() -> None:
    assert exponent([(2, 4), (4, 16), (64, 4096)]) == pytest.approx(2)
    assert exponent([(2, 5), (64, 5)]) == pytest.approx(0)
    assert exponent([(2, 0), (64, 5)]) is None
    assert exponent([(2, 5), (2, 5)]) is None


def test_the_growth_that_the_page_tells() -> None:
    def of(design: str, count: str) -> str:
        return bench.growth(bench.points(ROWS, design, "leave", count))

    assert (of("watchers", "rebalances"), of("classic", "rebalances")) == ("n^1.00", "constant")
    power = exponent(bench.points(ROWS, "watchers", "leave", "nodes"))
    assert power is not None
    assert 1.8 < power < 2


def test_a_change_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="there is no change crash; there are join, leave"):
        simulated(SUBJECTS["classic"], 2, "crash", 0)


def test_a_page_without_a_place_for_the_table() -> None:
    with pytest.raises(ValueError, match=r"designs\.md has no place for the table"):
        bench.documents(ROWS, "# Nothing\n")
