"""What is told of answers that answer what was answered before."""

from __future__ import annotations

import pytest

from rota.history import Event, Kind
from rota.record.dialogue import ANSWERED_AGAIN, Counted, Dialogue
from rota.record.dialogue import REQUEST_HEAD as ASKED_BY
from rota.record.dialogue import RESPONSE_HEAD as ANSWERED_BY
from rota.wire import encode_request, encode_response


class Line:
    """A connection on which heartbeats are sent and answered. told: what is told of it."""

    def __init__(self) -> None:
        self.told: list[Event] = []
        self.dialogue = Dialogue(1, ("b", 9092), None, lambda: (0.0, "x#1"), self.told.append, Counted())

    def asks(self, correlation: int) -> Line:
        payload = encode_request("Heartbeat", 4, {"group_id": "g"}, correlation, "c")
        asked = self.dialogue.ask_begins(payload[:ASKED_BY], len(payload))
        assert asked is not None
        self.dialogue.asked(asked, payload)
        return self

    def answers(self, correlation: int) -> Line:
        payload = encode_response("Heartbeat", 4, {}, correlation)
        asked = self.dialogue.answer_begins(payload[:ANSWERED_BY], len(payload))
        if asked is not None:
            self.dialogue.answered(asked, payload)
        return self

    def unread(self) -> list[tuple[str, str, str]]:
        """Whose and why."""
        return [(one.group, one.client, one.reason) for one in self.told if one.kind is Kind.UNREAD]


def test_another_answer_is_told_with_what_it_answers() -> None:
    line = Line().asks(5).answers(5).answers(5)
    assert line.unread() == [("g", "c", ANSWERED_AGAIN)]
    assert line.answers(5).unread() == [("g", "c", ANSWERED_AGAIN)] * 2


def test_ids_may_be_used_again_once_they_are_answered() -> None:
    assert Line().asks(5).answers(5).asks(5).answers(5).unread() == []


@pytest.mark.parametrize("between", ["nothing was asked", "a gap", "many answers"])
def test_what_may_answer_something_else_is_no_other_answer(between: str) -> None:
    line = Line()
    if between != "nothing was asked":
        line.asks(5).answers(5)
    if between == "a gap":
        line.dialogue.gap("packets were lost")
    for number in range(100 if between == "many answers" else 0):
        line.asks(1000 + number).answers(1000 + number)
    assert [reason for _, _, reason in line.answers(5).unread()] == ["an answer to no request that was seen"]
