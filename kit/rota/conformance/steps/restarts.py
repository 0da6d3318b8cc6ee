"""Steps in which the target is ended and started again, or another broker takes over."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue, Member
from rota.conformance.dialogues.operator import Operator
from rota.conformance.dialogues.transcript import RESTARTED


def restart(d: Dialogue) -> None:
    """End the target and start it again with what it has stored; everyone gets a new connection."""
    operator = _ended(d)
    _return(d, operator, ready=True)
    d.transcript.add("", RESTARTED, f"the target is restarted ({operator.signal})")


def fail_over(d: Dialogue) -> None:
    """End the broker that coordinates; everyone gets a connection to the one that does so then."""
    end_target(d)
    start_again(d)


def end_target(d: Dialogue) -> None:
    """End the target, or the broker that coordinates; what it has answered before can still be read."""
    operator = _ended(d)
    d.transcript.add("", RESTARTED, f"{operator.who} is ended ({operator.signal})")


def start_again(d: Dialogue, ready: bool = True) -> None:
    """After `end_target`: the target, or the brokers that are left, with new connections for everyone.

    ready: it is waited for until it coordinates, not only until it listens.
    """
    operator = _operator(d)
    _return(d, operator, ready)
    d.transcript.add("", RESTARTED, operator.back)


def _ended(d: Dialogue) -> Operator:
    d.go_on()
    operator = _operator(d)
    operator.end(d.address)
    return operator


def _return(d: Dialogue, operator: Operator, ready: bool) -> None:
    """Every connection is dropped, and who had one gets another one to whoever coordinates then."""
    for connection in d.connections:
        connection.abort()
    d.address = operator.start_again(ready)
    d.cold = True
    for member in d.members:
        reconnect(member)


def reconnect(member: Member, address: tuple[str, int] | None = None) -> None:
    """Have a member go on over a new connection, to the coordinator or to another address."""
    member.connection.close()
    member.connection = member.dialogue.connect(member.name, address)


def _operator(d: Dialogue) -> Operator:
    if d.operator is None:
        raise RuntimeError("a dialogue that restarts the target has to say so where it is registered")
    return d.operator
