"""Bytes in, bytes out: rota's server, its connections and its coordinator in step with the spec."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from harness.wire_machine import ClientsOnTheWire
from rota.mutants.core import CoreBug, planted
from rota.spec import RULES


def run(examples, steps=40, phases=(Phase.generate, Phase.shrink)):
    """Run the machine, whose coordinator resigns at the end of each example; what it did, added up."""
    done = {"visited": set(), "requests": 0, "responses": 0, "broken": 0}

    class Recorded(ClientsOnTheWire):
        def teardown(self):
            if not self.tap.shadow.divergences:
                self.server.groups.resign()
            done["visited"] |= self.tap.shadow.oracle.visited
            done["requests"] += self.tap.shadow.requests
            done["responses"] += sum(client.answered for client in (*self.clients, *self.closed))
            done["broken"] += len(self.closed)

    run_state_machine_as_test(
        Recorded,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return done


@pytest.mark.parametrize("examples", [80, pytest.param(200, marks=pytest.mark.long)])
def test_clients_on_the_wire_get_what_the_spec_allows(examples, capsys):
    done = run(examples)
    rules = {slug for slug, _ in done["visited"]}
    with capsys.disabled():
        print(
            f" on the wire: {done['requests']:,} requests compared, {done['responses']:,} responses, "
            f"{done['broken']} broken connections, {len(rules)} of {len(RULES)} rules, "
            f"{len(done['visited'])} (rule, state) pairs"
        )
    assert len(rules) >= 50


def bug(name, function, old, new):
    return CoreBug("", name, "", f"rota.server.{function}", old, new)


SERVER_BUGS = {
    bug(
        "a connection is not muted",
        "connection:Connection._ready",
        "self._in_flight is not None or ",
        "",
    ): "two requests are under way|is not armed|a response out of order",
    bug(
        "a connection stays muted",
        "connection:Connection.ended",
        "self._in_flight = None",
        "pass",
    ): "is held up by nothing|goes unnoticed",
    bug(
        "the last frame waits for more bytes",
        "incoming:Incoming.next_frame",
        "or len(received) < end:",
        "or len(received) <= end:",
    ): "is held up by nothing",
    bug(
        "what came behind a frame is thrown away",
        "incoming:Incoming.next_frame",
        "del received[:end]",
        "received.clear()",
    ): "is held up by nothing|closes a connection without a reason|goes unnoticed",
    bug(
        "a reply to a lost connection fails",
        "connection:Connection.is_there",
        "return self._transport is not None and not self._transport.is_closing()",
        "return not self._transport.is_closing()",
    ): "NoneType|written to a connection that is lost|without a reason",
    bug(
        "all responses are number 0",
        "context:RequestContext.__init__",
        "self._correlation_id = request.correlation_id",
        "self._correlation_id = 0",
    ): "a response out of order",
    bug(
        "a frame of an impossible length is waited for",
        "incoming:Incoming._allowed",
        "if not 0 < size <= most:",
        "if size < 0:",
    ): "goes unnoticed",
    bug(
        "timers are late",
        "timers:LoopTimers.arm",
        "ceil(now) + delay_ms",
        "ceil(now) + delay_ms + 50",
    ): "is overdue",
    bug(
        "after one timer the others are forgotten",
        "timers:LoopTimers._due",
        "self._wake(self._wheel.next_due_ms())",
        "pass",
    ): "is overdue",
    bug(
        "a cancelled timer fires",
        "groups:GroupService._set",
        "self._timers.cancel(timer.timer_id)",
        "pass",
    ): "a timer fires that is not armed",
    bug(
        "the old version's member id is lost",
        "groups:_leaving",
        'body.get("member_id", "")',
        '""',
    ): "is heard otherwise than it was sent",
    bug(
        "instance ids are lost",
        "groups:GroupService._join_group",
        'body.get("group_instance_id")',
        "None",
    ): "is heard otherwise than it was sent",
    bug(
        "shares are mixed up",
        "groups:GroupService._sync_group",
        'item["member_id"], item["assignment"]',
        'item["member_id"], item["member_id"][:1].encode()',
    ): "is heard otherwise than it was sent",
}
"""Bugs of the server, and what is said of each."""


@pytest.mark.parametrize("planted_bug", SERVER_BUGS, ids=lambda one: one.name.replace(" ", "-"))
def test_a_planted_bug_of_the_server_is_found(planted_bug):
    with planted(planted_bug), pytest.raises((AssertionError, AttributeError)) as found:
        run(200, phases=(Phase.generate,))
    assert re.search(SERVER_BUGS[planted_bug], str(found.value)), str(found.value)
