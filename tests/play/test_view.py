"""What the page shows of a session: all of it escaped, previews with guards, lights of the state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import ticket_office

from rota.kernel import Outcome, Refusal, System
from rota.play import Session
from rota.play.desk import Desk
from rota.play.view import view
from rota.trace import Origin

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


class Elements(HTMLParser):
    """The elements of some markup, and its text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.text = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


class Stranger(ticket_office.Customer):
    """Everything that it says is markup."""

    def actions(self, value: ticket_office.Person) -> Any:
        moves = super().actions(value)
        return [replace(one, label=f"{self.who} {HOSTILE}", rules=(HOSTILE,)) for one in moves]

    def receive(self, value: ticket_office.Person, sender: str, message: Any) -> Any:
        return (Outcome(replace(value, ticket=message.number, note=HOSTILE.encode())),)

    def refusals(self, value: ticket_office.Person) -> list[Refusal]:
        return [Refusal(HOSTILE, HOSTILE)]


def fragments(shown: dict[str, Any]) -> list[str]:
    """All that goes into the page as markup."""
    previews = [move["preview"] for offer in shown["offers"] for move in offer["moves"]]
    return [*(shown[name] for name in ("chart", "state", "owners", "lights", "refused")), *previews]


def test_strangers_texts_stay_texts() -> None:
    whole = ticket_office.office(2)
    system = System(
        HOSTILE, (whole.machines[0], Stranger("p1", False), Stranger("p2", False)), whole.properties
    )
    session = Session.of(system).step(0)
    markup = fragments(view(session))
    chart = Desk(session, Origin(), {}).ask({"do": "graph", "around": "start"})["svg"]
    found = [Elements(one) for one in (*markup, chart)]
    assert not {"script", "img"} & {name for one in found for name in one.names}
    assert sum(HOSTILE in one.text for one in found) >= 3, "and they are shown"
    json.dumps(view(session))


def previews(session: Session) -> dict[str, str]:
    """The text of each move's preview, by its label."""
    offers = view(session)["offers"]
    return {move["label"]: Elements(move["preview"]).text for offer in offers for move in offer["moves"]}


def test_a_preview_tells_changes_and_the_rules_that_were_asked(core: Session) -> None:
    session = core.step(0)
    text = previews(session)["c1's JoinGroup reaches the coordinator"]
    assert "Group(pending={c1-1})" in text
    refusing, firing = (
        text.index("join.invalid-group-id refuses"),
        text.index("join.member-id-required fires"),
    )
    assert refusing < firing
    assert "since join_request(call).group_id join.py:" in text[refusing:firing]


def test_a_move_that_violates_something_says_so(built: Callable[..., System]) -> None:
    session = Session.of(built("rejoin", "barrier-ignores-pending"))
    waiting = "coordinator.group.state == 'Stable' and len(coordinator.group.pending) == 1"
    there = session.jumped(waiting).jumped("coordinator.group.generation_id == 2")
    before = there.to(there.at - 1)
    (violating,) = [
        move
        for offer in view(before)["offers"]
        for move in offer["moves"]
        if "join.barrier-waits-for-pending" in move["breaks"]
    ]
    assert "violated: join.barrier-waits-for-pending" in Elements(violating["preview"]).text
    now = Elements(view(before.step(violating["number"]))["lights"]).text
    assert "1 violated" in now
    assert "violated" not in Elements(view(before)["lights"]).text


def test_refusals_stand_with_their_machine_by_reason(core: Session) -> None:
    text = Elements(view(core)["refused"]).text
    assert "its process has not diedc1 restarts" in text, "a machine's own reason without its name"
    assert "budget: this configuration does not allow thatc1 crashesCharge(crash)" in text


def test_a_system_that_claims_nothing_is_shown() -> None:
    silent = replace(ticket_office.office(2), properties=())
    shown = view(Session.of(silent))
    assert "claims nothing of its states" in shown["lights"]
    assert shown["chart"] == ""
    assert shown["step"] == "at the start"
