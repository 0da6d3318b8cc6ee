"""The state graph: all of a small system, what is said where it is not all, ways to nodes, the picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import ticket_office
import toys

from rota.explore import reference
from rota.play import Session
from rota.play.chart import Chart
from rota.play.desk import Desk
from rota.play.graph import Graph, explored
from rota.play.graph_picture import Marks, arranged, picture
from rota.trace import Origin

SVG = "{http://www.w3.org/2000/svg}"


def of(session: Session, most: int = 300) -> Graph:
    return explored(session.system, session.state, most)


def test_the_whole_of_a_small_system_is_there(core: Session) -> None:
    graph, result = of(core), reference.explore(core.system)
    assert (len(graph.nodes), len(graph.layers) - 1) == (result.distinct, 20)
    edges = {(node.state, move.target) for node in graph.nodes for move in core.system.successors(node.state)}
    drawn = {(graph.nodes[edge.source].state, graph.nodes[edge.target].state) for edge in graph.edges}
    assert drawn == edges
    assert graph.whole
    assert graph.said.startswith("all 148 states")


def test_steps_are_not_judged_by_the_order_of_nodes(core: Session) -> None:
    assert Chart.of(core, 0).broken == frozenset()


def test_what_is_left_out_is_said(core: Session) -> None:
    graph = of(core, 20)
    assert len(graph.nodes) == 20
    assert not graph.whole
    assert "there are more, which are not drawn" in graph.said
    for node in graph.nodes:
        leads = {move.target for move in core.system.successors(node.state)}
        assert node.open == bool(leads - set(graph.numbers)), node.number
    late = explored(core.system, core.state, seconds=-1)
    assert (len(late.nodes), late.whole) == (1, False)
    assert "no time for more" in late.said


def test_the_way_to_a_node_is_a_shortest_run(core: Session) -> None:
    graph = of(core)
    for node in graph.nodes:
        there = core.led(graph.way(node.number))
        assert there.state == node.state
        assert len(there.path) == node.depth


def test_every_state_has_a_place_of_its_own_and_the_picture_is_markup(core: Session) -> None:
    graph = of(core)
    places = arranged(graph)
    assert len(set(places.values())) == len(graph.nodes)
    texts = [f"<b>{number}</b>" for number in range(len(graph.nodes))]
    drawn = ElementTree.fromstring(picture(graph, Marks(5, [0, 1, 5], {7}, texts)))
    nodes = {one.get("data-node"): one for one in drawn.iter(f"{SVG}a")}
    assert len(nodes) == 148
    assert nodes["5"].get("class") == "node way here"
    assert "broken" in (nodes["7"].get("class") or "")
    assert nodes["3"].get("aria-label") == "<b>3</b>"
    ends = {number for number, one in nodes.items() if "end" in (one.get("class") or "").split()}
    still = {
        str(node.number)
        for node in graph.nodes
        if all(move.target == node.state for move in core.system.successors(node.state))
    }
    assert ends == still != set()


def test_contradictions_and_the_way_are_marked() -> None:
    session = Session.of(ticket_office.office(2, "tickets.differ"))
    chart = Chart.of(session, 0)
    assert len(chart.broken) == 1
    (wrong,) = chart.broken
    assert "violates tickets.differ" in chart.texts[wrong]
    there = session.led(chart.graph.way(wrong))
    svg = chart.drawn(there)["svg"]
    assert re.search(rf'class="node way here broken[^"]*" id="n{wrong}"', svg)
    outside = Chart.of(there, 2).drawn(session)
    assert "where you are is not among them" in outside["said"]


def test_a_node_leads_to_its_state_also_in_a_graph_from_here() -> None:
    session = Session.of(toys.die_hard()).walked(2, 1)
    desk = Desk(session, Origin(), {})
    desk.ask({"do": "graph", "around": "here"})
    shown = desk.ask({"do": "node", "number": 1})
    assert shown["at"] == 3
    assert desk.session.path[:2] == session.path
