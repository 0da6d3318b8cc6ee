"""From a trace to its page and its chart, with its system at hand and without."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from ticket_office import office

from harness.elements import having
from rota.explore.reference import explore as search
from rota.pages.trace_page import html
from rota.pages.trace_svg import svg
from rota.trace import Run, dumps, record, replay, text


@pytest.fixture(scope="module")
def run() -> Run:
    system = office(2, "tickets.differ")
    violation = search(system).violation
    assert violation is not None
    return replay(record(system, violation.name, violation.start, violation.path), system)


def copies(page: str) -> dict[str, str]:
    return {one.inside[0].text: one.inside[-1].text for one in having(page, class_="form")}


def test_the_page_of_a_trace_has_its_states_and_forms(run: Run) -> None:
    page = html(run.trace, run)
    assert having(page, "h1")[0].text == "tickets.differ"
    assert len(having(page, "article")) == len(run.path) + 1
    assert having(page, class_="machines")
    forms = copies(page)
    assert forms["text"] == text(run.trace)
    assert forms["JSON lines"] == dumps(run.trace)
    assert "sequenceDiagram" in forms["Mermaid"]
    assert "dialogue" not in forms, "it is about another system than Kafka's"


def test_a_form_that_a_trace_does_not_have_is_left_out(run: Run) -> None:
    reached = replace(run.trace, origin=replace(run.trace.origin, reach="office.next == 3"))
    assert "pytest" not in copies(html(reached, replace(run, trace=reached)))


def test_without_its_system_a_trace_is_drawn_by_what_it_says(run: Run) -> None:
    page = html(run.trace, None)
    assert "is not at hand" in having(page, class_="notice")[0].text
    assert not having(page, class_="machines")
    assert len(having(page, "article")) == len(run.path) + 1
    assert list(copies(page)) == ["text", "Mermaid", "JSON lines"]


def test_the_chart_of_a_trace_is_a_file(run: Run) -> None:
    for chart in (svg(run.trace, run), svg(run.trace, None)):
        root = ElementTree.fromstring(chart)
        rows = [one for one in root.iter() if (one.get("class") or "").split()[:1] == ["event"]]
        assert len(rows) == len(run.path)
