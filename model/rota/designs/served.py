"""Members of the second design: they set no watches and follow the coordinator's answers.

Source: Kafka wiki, Kafka 0.9 Consumer Rewrite Design: consumer. Committing offsets is left out: nothing is
decided by it. A request and its answer are one step, but for JoinGroup, which is answered later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rota.designs.budget import Charge
from rota.designs.requests import (
    Answered,
    ConsumerMetadata,
    Coordinator,
    Error,
    Heartbeat,
    Joined,
    JoinGroup,
    TakenForDead,
)
from rota.designs.server_side import WIKI
from rota.kernel import Message, Outcome, RuleTable, Send, Value, frozen, replace
from rota.kernel.rules import rule

Outcomes = Sequence[Outcome]


@frozen
class Member:
    """A member.

    wish: the strategy that it asks for; knows: the broker that it takes for the coordinator; waiting: for the
    answer to its JoinGroup; generation, 0 for none, partitions, strategy and source: of its last answer, and
    from which broker that came. It fetches its partitions.
    """

    who: str
    wish: str
    knows: int | None = None
    waiting: bool = False
    generation: int = 0
    partitions: tuple[int, ...] = ()
    strategy: str = ""
    source: int | None = None
    gone: bool = False


@rule("server-side.found", source=WIKI + "ConsumerMetadataResponse")
def found(machine: Served, value: Member, message: Coordinator) -> Outcomes:
    """It knows the coordinator, and goes on in its generation if it has one."""
    return (Outcome(replace(value, knows=message.broker)),)


@rule("server-side.served", source=WIKI + "JoinGroupResponse")
def served(machine: Served, value: Member, message: Joined) -> Outcomes:
    """It fetches the partitions that it is assigned."""
    fetching = Member(
        who=value.who,
        wish=value.wish,
        knows=value.knows,
        generation=message.generation,
        partitions=message.partitions,
        strategy=message.strategy,
        source=message.broker,
    )
    return (Outcome(fetching),)


@rule("server-side.rejoin", source=WIKI + "IllegalGeneration, UnknownConsumer: JoinGroupRequest")
def rejoin(machine: Served, value: Member) -> Outcomes:
    """Its generation is over: it stops to fetch; its next request is a JoinGroup."""
    return (Outcome(Member(value.who, value.wish, value.knows)),)


@rule("server-side.look-again", source=WIKI + "NotCoordinatorForGroup")
def look_again(machine: Served, value: Member) -> Outcomes:
    """It has to look the coordinator up again. Meanwhile it fetches what it did."""
    return (Outcome(replace(value, knows=None, waiting=False)),)


ANSWERS = {
    Error.ILLEGAL_GENERATION: "server-side.rejoin",
    Error.UNKNOWN_CONSUMER: "server-side.rejoin",
    Error.NOT_COORDINATOR_FOR_GROUP: "server-side.look-again",
}


@dataclass(frozen=True, eq=False)
class Served:
    """The machine of one member. wish: the strategy that it asks for."""

    rules: RuleTable
    who: str
    wish: str
    role: str = "member"

    @property
    def name(self) -> str:
        """`member/` and its id."""
        return f"member/{self.who}"

    def initial(self) -> Sequence[Value]:
        """It knows nothing."""
        return (Member(self.who, self.wish),)

    def actions(self, value: Member) -> Outcomes:
        """Its next request; leaving, which it tells nobody: it falls silent."""
        if value.gone:
            return ()
        outcomes = []
        if not value.waiting:
            after, what, request = self._request(value)
            outcomes.append(Outcome(after, (Send("brokers", request),), f"{self.who} {what}"))
        if value.generation or value.waiting:
            silent = Member(self.who, self.wish, gone=True)
            outcomes.append(Outcome(silent, (Send("budget", Charge("leave")),), f"{self.who} falls silent"))
        return outcomes

    def _request(self, value: Member) -> tuple[Member, str, Message]:
        if value.knows is None:
            return value, "asks a broker for the coordinator", ConsumerMetadata()
        if value.generation:
            heartbeat = Heartbeat(value.knows, value.generation)
            return value, f"sends a heartbeat to broker {value.knows}", heartbeat
        joining = replace(value, waiting=True)
        return joining, f"sends JoinGroup to broker {value.knows}", JoinGroup(value.knows, self.wish)

    def receive(self, value: Member, sender: str, message: Message) -> Outcomes:
        """A broker's answer. A member that is gone ignores it, and may be taken for dead."""
        if isinstance(message, TakenForDead):
            return (Outcome(value),) if value.gone else ()
        if value.gone:
            return (Outcome(value),)
        if isinstance(message, Coordinator):
            return self._apply("server-side.found", value, message)
        if isinstance(message, Joined):
            return self._apply("server-side.served", value, message)
        assert isinstance(message, Answered)
        slug = ANSWERS.get(message.error)
        return self._apply(slug, value) if slug else (Outcome(value),)

    def _apply(self, slug: str, *inputs: Any) -> Outcomes:
        outcomes = self.rules[slug].function(self, *inputs)
        return tuple(replace(outcome, rules=(slug, *outcome.rules)) for outcome in outcomes)
