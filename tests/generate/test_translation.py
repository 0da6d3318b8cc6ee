"""Requests and answers are the same in the spec's words and on the wire, whatever their version."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from harness.walk_terms import TERMS
from rota.generate.plan import Ask
from rota.generate.planner import Planner
from rota.generate.replies import NotInTheSpec, reply_of
from rota.generate.requests import SPOKEN, body_of, carried, request_of
from rota.generate.transactions import TransactionPlanner
from rota.spec import KAFKA_4, ROTA, HeartbeatRequest, classic
from rota.spec.messages import Call, Node
from rota.wire import decode_request, encode_request


def asks(plans: int) -> Iterator[Ask]:
    """The requests of some plans."""
    with_transactions = TransactionPlanner(5, TERMS, ROTA).plans()
    for plan in (*islice(Planner(5, TERMS, ROTA).plans(), plans), *islice(with_transactions, plans // 5)):
        yield from (step for step in plan.steps if isinstance(step, Ask))


@pytest.mark.parametrize("plans", [100, pytest.param(150, marks=pytest.mark.long)])
def test_requests_are_carried_as_the_codec_carries_them(plans):
    """What `carried` leaves of a request is what the codec writes and reads of it."""
    seen = set()
    for ask in asks(plans):
        seen.add((ask.api, ask.version))
        body = body_of(ask.request, ask.version)
        about = {"about": body.pop("about")} if "about" in body else {}
        frame = encode_request(ask.api, ask.version, body, 1, "c")
        read = request_of(ask.api, ask.version, {**decode_request(frame).body, **about})
        assert read == ask.request == carried(ask.request, ask.version)
    wanted = {(name, v) for name in SPOKEN for v in TERMS.spoken(name)}
    assert wanted - seen <= {("OffsetCommit", v) for v in range(2, 10)}, sorted(wanted - seen)


def test_an_error_that_no_rule_answers_is_told():
    """A code outside of the spec is no answer of it, and its name is said."""
    with pytest.raises(NotInTheSpec, match="TOPIC_AUTHORIZATION_FAILED"):
        reply_of(HeartbeatRequest("g", 1, "m"), 4, {"error_code": 29})


@pytest.mark.parametrize("version", [0, 3, 4, 6])
def test_an_answer_to_find_coordinator_is_read_in_both_forms(version):
    """One key or several: the same is said."""
    node = Node(1, "h", 9092)
    request = request_of("FindCoordinator", version, {"key": "g", "coordinator_keys": ["g"]})
    (step,) = classic(profile=KAFKA_4).handle(None, Call(request, "0", version, leader=node))
    told = {"node_id": 1, "host": "h", "port": 9092, "error_code": 0}
    body = told if version < 4 else {"coordinators": [{**told, "key": "g"}]}
    assert reply_of(request, version, body) == step.replies[0].message
