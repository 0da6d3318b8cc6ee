"""The model of what a round on Spark costs: the costs that runs were made from are found."""

from __future__ import annotations

from typing import Any

import pytest
from bench.spark_model import FITTED, Fit, fit, model

CORES = 2
WORK = [(10**5 * k * k, 10**6 * (40 * k - k * k)) for k in range(12)]
"""States and bytes of the rounds of a run; the two do not go together."""


def run(executors: int, whole: Fit, wall: Fit) -> dict[str, Any]:
    """A run that costs exactly what two models say."""
    at_work = min(executors, CORES)

    def told(states: int, sent: int, first: bool) -> dict[str, float]:
        def cost(one: Fit, cores: int) -> float:
            if first:  # two such rounds
                return (one.begin + one.begin_each * executors / cores) / 2
            work = one.each * executors + one.per_state * states + one.per_byte * sent
            return one.fixed + work / cores

        return {"expanded": states, "sent_bytes": sent, "seconds": cost(wall, at_work),
                "core_seconds": cost(whole, 1)}  # fmt: skip

    rounds = [told(*one, first=number < 2) for number, one in enumerate(WORK)]
    return {
        "way": {"options": {"master": f"local-cluster[{executors},1,9]"}},
        "cores": CORES,
        "rounds": rounds,
    }


WHOLE = Fit(0.5, 0.1, 1e-6, 4e-8, 5.0, 9.0)
WALL = Fit(0.3, 0.1, 1.2e-6, 5e-8, 2.0, 9.0)


def test_the_costs_that_runs_were_made_from_are_found_on_one_and_two_executors() -> None:
    runs = [run(count, WHOLE, WALL) for count in (1, 2, 4)]
    wall, whole = model(runs)
    for found, planted in ((wall, WALL), (whole, WHOLE)):
        assert list(vars(found).values()) == pytest.approx(list(vars(planted).values()))
    four = runs[2]["rounds"]
    assert whole.seconds(four, 4) == pytest.approx(sum(r["core_seconds"] for r in four))
    assert wall.seconds(four, 4, CORES) == pytest.approx(sum(r["seconds"] for r in four))


def test_four_executors_that_cost_more_are_not_predicted() -> None:
    dear = Fit(0.5, 1.1, 1e-6, 4e-8, 5.0, 9.0)
    runs = [run(count, WHOLE if count in FITTED else dear, WALL) for count in (1, 2, 4)]
    _, whole = model(runs)
    assert whole.seconds(runs[2]["rounds"], 4) < 0.9 * sum(r["core_seconds"] for r in runs[2]["rounds"])


def test_no_cost_is_negative() -> None:
    assert fit([(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], [3.0, 2.0, 1.0]) == pytest.approx([18 / 11, 0.0])
