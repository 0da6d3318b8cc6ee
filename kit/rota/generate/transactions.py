"""Draws plans in which producers commit offsets of the group in transactions, rightly and wrongly.

A plan is drawn as others are; beside what they have, up to two transactions at a time are begun, committed in
by whoever is a member or says so, and ended. What is asked of the transactions' own coordinator is right: it
is the group's that is judged.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from rota.generate.cast import Cast, Client
from rota.generate.moves import CHANGES, Moves, offsets
from rota.generate.plan import GROUP, Ask, Begin, End, Plan
from rota.generate.planner import BETWEEN_QUIETS, Drawing, Planner
from rota.generate.simulated import Simulated
from rota.kernel import replace as replaced
from rota.linearise.asked import OLDER
from rota.spec.offset_messages import TopicPartitions, TxnOffsetCommitRequest

AT_ONCE = 2
"""Transactions that are open at a time, at most."""

TRANSACTIONAL = 0.55
"""How often a step of a plan is about a transaction."""

ODD = (0, 0, 1, 1, 2)
"""How many things may be wrong with a commit."""

COMMITTED = 0.7
"""The part of transactions that are committed, not aborted."""

NOBODY = 0.3
"""How often a commit names no member."""

API = "TxnOffsetCommit"

STATIC_SINCE = 3
"""The first version of it that names a member, and an instance id."""

STABLE_SINCE = 7
"""The first version of OffsetFetch that can ask for stable offsets only."""

KINDS = ("commit",) * 9 + ("end",) * 5 + ("fetch",) * 4 + ("begin",) * 2
"""How often each kind of step is drawn while a transaction is open."""


class TransactionalMoves(Moves):
    """Draws requests as `Moves` does, and commits in transactions.

    The coordinator before Kafka 4 keeps a group for an open transaction from which OffsetDelete has taken all
    offsets (docs/findings.md), which the spec does not know of: it is not asked to delete any.
    """

    def any(self, client: Client) -> Ask:
        """As of `Moves`."""
        ask = super().any(client)
        return self.seen(client) if self.older and ask.api == "OffsetDelete" else ask

    def in_transaction(self, client: Client, transaction: int) -> Ask:
        """A commit in a transaction, by a member or by whoever says that it is one."""
        told = client.told[0] if client.told else None
        place = (client.generation, client.member_id, client.instance)
        if self.rng.random() < NOBODY:
            told, place = None, (-1, "", None)
        request = TxnOffsetCommitRequest(GROUP, transaction, offsets(self), *place)
        spoken = self.terms.spoken(API, STATIC_SINCE if client.instance else 0) or self.terms.spoken(API)
        version = spoken[-1] if self.rng.random() < 0.5 else self.rng.choice(spoken)
        ask = Ask(self.number, client.name, client.line, version, request, told, client.generation)
        for _ in range(self.rng.choice(ODD)):
            ask = self._changed(ask, self.rng.choice(CHANGES["Heartbeat"]), client)
        return self._carried(ask)

    def seen(self, client: Client) -> Ask:
        """OffsetFetch of both topics, or of all; in half of them what is open counts as well."""
        ask = self.made("OffsetFetch", client)
        request: Any = ask.request
        if request.topics and self.rng.random() < 0.3:  # of the second partition nobody has committed any
            both = tuple(TopicPartitions(one.name, (0, 1)) for one in request.topics)
            ask = replace(ask, request=(request := replaced(request, topics=both)))
        stable = bool(self.terms.spoken("OffsetFetch", STABLE_SINCE)) and self.rng.random() < 0.5
        if stable:
            version = self.rng.choice(self.terms.spoken("OffsetFetch", STABLE_SINCE))
            ask = replace(ask, version=version, request=replaced(request, require_stable=True))
        return self._carried(ask)


class TransactionalDrawing(Drawing):
    """One plan while it is drawn."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._transactions: list[int] = []
        self._begun = 0

    def _next(self) -> None:
        if self._rng.random() < TRANSACTIONAL and self._heard_all:
            self._transact()
        else:
            super()._next()

    @property
    def _heard_all(self) -> bool:
        """Whether no more is under way than can be told apart."""
        return self._since_quiet < BETWEEN_QUIETS and self._unheard <= 1

    def _transact(self) -> None:
        kind = self._rng.choice(KINDS) if self._transactions else "begin"
        if kind == "begin" and len(self._transactions) == AT_ONCE:
            kind = "commit"
        if kind == "begin":
            self._steps.append(Begin(self._begun))
            self._transactions.append(self._begun)
            self._begun += 1
        elif kind == "end":
            self._end(self._rng.choice(self._transactions))
        elif kind == "fetch":
            self._ask(self._moves.seen(self._cast.operator))
        else:
            client = self._rng.choice(self._active)
            self._ask(self._moves.in_transaction(client, self._rng.choice(self._transactions)))

    def _end(self, transaction: int) -> None:
        committed = self._rng.random() < COMMITTED
        self._steps.append(End(transaction, committed))
        self._transactions.remove(transaction)
        self._simulated.end(transaction, committed)
        self._count(self._simulated)
        if self._rng.random() < 0.5:
            self._ask(self._moves.seen(self._cast.operator))

    def _before_last(self) -> None:
        for transaction in [*self._transactions]:
            self._end(transaction)


class TransactionPlanner(Planner):
    """Draws one plan with transactions after the other. Parameters and attributes: as of `Planner`."""

    def _drawing(self, number: int) -> Drawing:
        rng = Random(f"{self._seed}/transactions/{number}")
        terms = self._terms
        cast = Cast(rng, terms)
        simulated = Simulated(terms.config, self._profile, terms.looks_every_ms)
        moves = TransactionalMoves(rng, terms, cast, simulated, self._profile.name in OLDER)
        plan = Plan(self._seed, number, (), transactional=True)
        return TransactionalDrawing(rng, plan, terms, cast, simulated, moves, self.reached)
