"""The older designs: every configuration comes out as pinned, from every engine; what each cause does."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Any

import pytest

from harness.thinned import some
from rota.designs import suites
from rota.designs.suites import DESIGNS, Configuration
from rota.explore import Result, Verdict, engines
from rota.explore.spark import engine as spark
from rota.explore.spark.session import spark_context
from rota.kernel import Kind
from rota.mutants import designs as mutants
from rota.trace import record, text

ALL = [(design, one) for design in DESIGNS for one in suites.load(design).configurations]
IDS = [f"{design}/{one.name}" for design, one in ALL]
SMALL = [pair for pair in ALL if pair[1].expected["distinct"] <= 2_000]
"""Those in which the slower engines take part; one of the larger ones they explore once."""


@cache
def explored(design: str, name: str, engine: str = "fast") -> Result:
    one = suites.load(design).configuration(name)
    return engines.choose(engine)(suites.system(design, one.settings))


def as_pinned(result: Result) -> dict[str, Any]:
    told: dict[str, Any] = {"verdict": result.verdict.value}
    if result.violation is not None:
        told |= {"property": result.violation.name, "steps": result.violation.steps}
    return told | {key: getattr(result, key) for key in ("distinct", "generated", "depth", "digest")}


@pytest.mark.parametrize(("design", "one"), ALL, ids=IDS)
def test_configuration(design: str, one: Configuration) -> None:
    result = explored(design, one.name)
    assert as_pinned(result) == one.expected
    assert bool(one.cause) == (result.verdict is Verdict.VIOLATED)


@pytest.mark.parametrize("engine", ["reference", "numpy"])
@pytest.mark.parametrize(
    ("design", "one"),
    some(SMALL, 6, kind=itemgetter(0)),
    ids=[f"{design}/{one.name}" for design, one in SMALL],
)
def test_engines_agree(design: str, one: Configuration, engine: str) -> None:
    result, fast = explored(design, one.name, engine), explored(design, one.name)
    assert result.answer == fast.answer
    assert result.violation == fast.violation


@pytest.mark.long
def test_a_larger_one_on_the_reference_engine() -> None:
    assert (
        explored("watchers", "three-leave", "reference").answer == explored("watchers", "three-leave").answer
    )


@pytest.mark.long
@pytest.mark.spark
def test_spark_agrees() -> None:
    """On a violation of either kind, on one that holds, and on a mutant: workers rebuild the systems."""
    with spark_context() as context:
        for design, name in (("watchers", "lag"), ("watchers", "session-end"), ("server-side", "wishes")):
            one = suites.load(design).configuration(name)
            result = spark.explore(suites.system(design, one.settings), context=context)
            assert result.answer == explored(design, name).answer
            assert result.violation == explored(design, name).violation
        wishes = suites.load("server-side").configuration("wishes").settings
        mutated = mutants.system("server-side", wishes, "by-wishes")
        assert spark.explore(mutated, context=context).violation == engines.choose("fast")(mutated).violation


@pytest.mark.parametrize("design", DESIGNS)
def test_every_rule_fires(design: str) -> None:
    fired = {
        slug for one in suites.load(design).configurations for slug in explored(design, one.name).rules_fired
    }
    assert fired == {slug for slug, rule in DESIGNS[design].rules.items() if not rule.decides}


@pytest.mark.parametrize("design", DESIGNS)
def test_slugs_begin_with_the_design(design: str) -> None:
    for slug, rule in DESIGNS[design].rules.items():
        assert slug.startswith(f"{design}.")
        assert rule.source
        assert rule.title


@pytest.mark.parametrize("design", DESIGNS)
def test_properties_guard_rules_that_exist(design: str) -> None:
    for one in suites.load(design).configurations:
        for prop in suites.system(design, one.settings).properties:
            assert set(prop.rules) <= set(DESIGNS[design].rules)
            if prop.kind in (Kind.SAFETY, Kind.STEP):
                assert prop.source
                assert prop.rules


def test_both_forms_of_split_brain_are_found() -> None:
    violated = {one.expected.get("property") for design, one in ALL if design == "watchers"}
    assert violated == {None, "watchers.no-gap", "watchers.no-double-fetch"}


CURES = {
    "lag": {"servers": 1},
    "lag-four-tries": {"outlasts": "lag"},
    "session-end": {"prompt": True},
    "impatience": {"outlasts": "work"},
    "one-try": {"retries": 2},
}
"""What breaks the watchers, and the one setting that mends it."""


@pytest.mark.parametrize("name", CURES)
def test_each_cause_by_itself(name: str) -> None:
    one = suites.load("watchers").configuration(name)
    assert one.cause
    cured = engines.choose("fast")(suites.system("watchers", {**one.settings, **CURES[name]}))
    assert cured.verdict is Verdict.HOLDS


def test_every_cause_has_its_cure() -> None:
    assert set(CURES) == {one.name for one in suites.load("watchers").configurations if one.cause}


def told(name: str) -> str:
    """The steps of a violation, without what is said of them after the last."""
    one = suites.load("watchers").configuration(name)
    result = explored("watchers", name)
    assert result.violation is not None
    violation = result.violation
    system = suites.system("watchers", one.settings)
    steps, took, _ = text(record(system, violation.name, violation.start, violation.path)).partition(
        "what it took"
    )
    assert took
    return steps


def test_the_trace_of_a_gap_names_its_cause() -> None:
    """The consumer gives up while the other one's server lags, which then gives its partition away."""
    said = told("lag")
    late, last = said.index("server 1 catches up"), said.index("c2 claims partition 1", said.index("stirred"))
    assert said.count("c1 claims partition 0") == 2
    assert said.rindex("c1 claims partition 0") < late < last


def test_the_trace_of_a_double_fetch_names_its_cause() -> None:
    said = told("session-end")
    assert said.index("the session of c1 ends") < said.index("c2 fetches")
    assert "hears that its session ended" not in said


def test_a_member_is_served_by_a_strategy_that_it_did_not_ask_for() -> None:
    for name, settings in (("wishes", "range"), ("wishes-other-server", "roundrobin")):
        depths = {one.name: one.depth for one in explored("server-side", name).properties}
        assert depths["server-side.can_serve_against_a_wish"] is not None, settings
        assert explored("server-side", name).verdict is Verdict.HOLDS


def test_what_the_second_design_does_not_cure() -> None:
    """Who is taken for dead and lives fetches on in an old generation."""
    (one,) = (
        prop
        for prop in explored("server-side", "expire").properties
        if prop.name == "server-side.can_fetch_while_taken_for_dead"
    )
    assert one.depth is not None


@pytest.mark.parametrize("design", DESIGNS)
def test_an_unknown_setting(design: str) -> None:
    with pytest.raises(ValueError, match="no setting is called fuel; there are "):
        suites.system(design, {"fuel": 1})


def test_a_client_sees_its_own_writes() -> None:
    """However far a server lags, whoever has registered through it finds itself among the children."""
    system = suites.system("watchers", suites.load("watchers").configuration("lag").settings)
    seen, level = set(system.initial_states()), list(system.initial_states())
    reads = 0
    while level:
        found = [step for state in level for step in system.successors(state)]
        for step in found:
            for local_step in step.local_steps:
                if type(local_step.message).__name__ == "Children":
                    reads += 1
                    assert local_step.machine.removeprefix("consumer/") in local_step.message.ids  # type: ignore[union-attr]
        level = [state for state in dict.fromkeys(step.target for step in found) if state not in seen]
        seen.update(level)
    assert reads > 10
