"""Draws plans: each step is drawn from the seed, along what the spec does with the steps before it.

Nothing that a target answers has a part in it, so the same seed, settings and versions give the same plans,
however many of them are played. Of several requests that could be next the one is taken which leads to rules,
in states of the group, that the plans before have led to least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, ClassVar

from rota.generate.cast import Cast, Terms, reference
from rota.generate.moves import Moves
from rota.generate.plan import Ask, Break, Plan, Restart, Silence, Step
from rota.generate.settings import set_otherwise
from rota.generate.simulated import Pair, Simulated
from rota.linearise.asked import OLDER
from rota.spec import Call, Node, Profile

REQUESTS = 36
"""Requests of a plan, about."""

SECONDS = 14.0
"""How long a plan is silent in all, about."""

OPEN = 4
"""Requests that may be unanswered while another is sent: more in unknown order are hard to judge."""

BETWEEN_QUIETS = 10
"""Steps after which there is a quiet moment."""

QUIET = 0.5
"""Seconds of a quiet moment."""

MARGIN_MS = 500
"""Milliseconds by which a silence outlasts the timer that it is for, and by which one ends before it."""

TAKES_MS = 5
"""Milliseconds that a request takes, about."""

RESTARTED = 0.4
"""The part of plans in which the coordinator is killed once, where it can be."""

SET_OTHERWISE = 0.5
"""The part of these that start it with other settings, where it can be set."""

ALONE = 0.3
"""The part of plans that begin with offsets of a group that nobody is in, as of a tool."""

PIPELINED = 0.5
"""How often a client sends its next request of several at once on the connection of the one before."""

KILL = "SIGKILL"
"""By what it is killed."""

CANDIDATES = 8
"""Requests that are weighed against each other where the least reached is looked for."""


class Planner:
    """Draws one plan after the other.

    Parameters: seed; terms; profile, of the coordinator. Attributes: reached, how often the plans until now
    lead to each pair of a rule and a state, as far as the spec alone can say; of requests that two rules
    could decide also to that order of the two.
    """

    def __init__(self, seed: int, terms: Terms, profile: Profile) -> None:
        self._seed, self._terms, self._profile = seed, terms, profile
        self.reached: Counter[Pair] = Counter()

    def plans(self) -> Iterator[Plan]:
        """All plans of this seed, without end."""
        return (self._drawing(number).plan() for number in count())

    def _drawing(self, number: int) -> Drawing:
        rng = Random(f"{self._seed}/{number}")
        cast = Cast(rng, self._terms)
        simulated = Simulated(self._terms.config, self._profile, self._terms.looks_every_ms)
        moves = Moves(rng, self._terms, cast, simulated, self._profile.name in OLDER)
        return Drawing(rng, Plan(self._seed, number, ()), self._terms, cast, simulated, moves, self.reached)


class Drawing:
    """One plan while it is drawn.

    Parameters: rng; plan, without steps; terms; cast, who asks; simulated, the group; moves, what can be
    asked; reached, as of `Planner`.
    """

    AFTER_RESTART: ClassVar[tuple[str, ...]] = ("DescribeGroups", "OffsetFetch")
    AT_LAST: ClassVar[tuple[str, ...]] = ("DescribeGroups", "OffsetFetch", "ListGroups")

    def __init__(
        self,
        rng: Random,
        plan: Plan,
        terms: Terms,
        cast: Any,
        simulated: Any,
        moves: Any,
        reached: Counter[Pair],
    ) -> None:
        self._rng, self._plan, self._terms, self._reached = rng, plan, terms, reached
        # Of its own: what has no settings draws the same.
        self._chance = Random(f"{plan.seed}/{plan.number}/settings")
        self._cast, self._simulated, self._moves = cast, simulated, moves
        self._steps: list[Step] = []
        self._silent = 0.0
        self._since_quiet = 0
        self._open: dict[int, Any] = {}
        self._unheard = 0
        self._active = list(self._cast)[: self._rng.choice((1, 2, 2, 3, 3, 4))]

    def plan(self) -> Plan:
        """The plan."""
        requests = self._rng.randint(REQUESTS // 2, REQUESTS * 3 // 2)
        killed = self._terms.restarts and self._rng.random() < RESTARTED
        first = requests // 4
        last = self._rng.choice((requests, self._rng.randint(first, requests)))
        if self._rng.random() < ALONE:
            self._ask(self._moves.alone(self._cast.operator))
        while self._moves.number < requests and self._silent < SECONDS:
            if killed and self._moves.number >= (first if self._rng.random() < self._unkilled() else last):
                self._restart()
                killed = False
            self._next()
        self._before_last()
        for name in self.AT_LAST:
            self._ask(self._moves.made(name, self._cast.operator))
        for client in self._active:
            self._ask(self._moves.made(self._sign_of_life(client), client))
        self._silence(QUIET)
        return replace(self._plan, steps=tuple(self._steps), longest=self._longest())

    def _before_last(self) -> None:
        """What is done before it is asked what there is in the end."""

    def _sign_of_life(self, client: Any) -> str:
        """What a client asks at the end."""
        return "Heartbeat"

    def _comes_back(self, client: Any) -> str:
        """What a client asks after the coordinator was killed."""
        return "SyncGroup" if client.told else "JoinGroup"

    def _longest(self) -> float:
        """The largest timeout in the plan, in seconds."""
        asked = (step.request for step in self._steps if isinstance(step, Ask))
        timeouts = (
            getattr(request, name, 0)
            for request in asked
            for name in ("session_timeout_ms", "rebalance_timeout_ms")
        )
        return min(max(timeouts, default=0), 2**31 - 1) / 1000

    def _next(self) -> None:
        if self._since_quiet >= BETWEEN_QUIETS or self._unheard > OPEN:
            self._silence(QUIET)
        if len(self._open) >= OPEN:
            self._outlast()
            return
        roll = self._rng.random()
        free = [client for client in self._active if not client.waits]
        if roll < 0.5:
            if free:
                self._ask(self._moves.polite(self._rng.choice(free)))
            else:
                self._outlast()
        elif roll < 0.87:
            self._least_reached()
        elif roll < 0.93:
            self._burst()
        elif roll < 0.96:
            self._break()
        else:
            self._outlast()

    # -- steps
    def _ask(self, ask: Ask, burst: bool = False) -> None:
        client = self._client(ask)
        behind = client.line in self._lines_in_use() and self._rng.random() >= PIPELINED
        # From when on offsets are kept is known only of what waits behind nothing.
        if client.waits or (burst and behind) or getattr(ask.request, "retention_time_ms", -1) >= 0:
            client.line, client.waits = self._cast.connected(), set()
        ask = replace(ask, line=client.line)
        self._play(self._simulated, ask)
        self._count(self._simulated)
        self._open[ask.number] = client
        self._hear()
        answered = ask.number not in self._open
        if not answered:
            client.waits.add(ask.number)
        self._unheard += burst or not answered
        self._steps.append(replace(ask, waits=answered and not burst))
        self._moves.number += 1
        self._since_quiet += 1

    def _client(self, ask: Ask) -> Any:
        everybody: tuple[Any, ...] = (*self._cast, self._cast.operator)
        return next(client for client in everybody if client.name == ask.client)

    def _lines_in_use(self) -> set[int]:
        """Connections with a request whose answer nobody waited for, since the last quiet moment."""
        used: set[int] = set()
        for step in reversed(self._steps):
            if isinstance(step, Silence):
                break
            if isinstance(step, Ask) and not step.waits:
                used.add(step.line)
        return used

    def _least_reached(self) -> None:
        """The one of some steps that leads to what was reached least."""
        best, most, contested = None, -1.0, list[Pair]()
        for _ in range(CANDIDATES):
            ask = self._drawn()
            after = self._simulated.copy()
            self._play(after, ask)
            contests = self._simulated.contested(self._call(ask))
            score = self._news(after.pairs) + self._news(contests)
            if score > most:
                best, most, contested = ask, score, contests
        due = self._simulated.next_due()
        if due is not None and self._silent < SECONDS * 0.8:
            after = self._simulated.copy()
            after.wait(due - after.now)
            if self._news(after.pairs) > most:
                self._outlast()
                return
        assert best is not None
        self._reached.update(contested)
        self._ask(best)

    def _news(self, pairs: list[Pair]) -> float:
        """How much is to be learned where this is reached: less, the more often it was."""
        return sum(1 / (1 + self._reached[pair]) ** 2 for pair in dict.fromkeys(pairs))

    def _drawn(self) -> Ask:
        client = self._rng.choice(self._active)
        drawn = self._moves.polite if self._rng.random() < 0.2 else self._moves.any
        ask: Ask = drawn(client)
        return ask

    def _burst(self) -> None:
        """Several requests at once: nobody knows in which order they are taken."""
        room = OPEN - max(len(self._open), self._unheard)
        for _ in range(min(self._rng.randint(2, 4), room)):
            self._ask(self._drawn(), burst=True)
        self._silence(QUIET)

    def _break(self) -> None:
        """A connection breaks, of somebody who waits for an answer if there is one."""
        waiting = [client for client in self._active if client.waits]
        client = self._rng.choice(waiting or self._active)
        self._steps.append(Break(client.line))
        for number in client.waits:
            self._open.pop(number, None)
        client.line, client.waits = self._cast.connected(), set()

    def _unkilled(self) -> float:
        """How much is to be learned if the coordinator is killed now."""
        return self._news([self._loss()]) / 2

    def _loss(self) -> Pair:
        """What a coordinator that is killed now must have stored."""
        return f"killed with {self._simulated.holds}", self._simulated.state

    def _restart(self) -> None:
        """The coordinator is killed; what it told before it should tell again."""
        self._reached[self._loss()] += 1
        everybody = [*self._cast, self._cast.operator]
        for client in everybody:
            self._steps.append(Break(client.line))
            client.line, client.waits = self._cast.connected(), set()
        self._open.clear()
        self._silence(QUIET)
        others = self._terms.other_settings if self._chance.random() < SET_OTHERWISE else {}
        self._steps.append(Restart(KILL, tuple(others.items())))
        self._simulated.restart(set_otherwise(self._terms.config, others))
        self._count(self._simulated)
        for name in self.AFTER_RESTART:
            self._ask(self._moves.made(name, self._cast.operator))
        for client in self._active:
            if not client.waits and self._rng.random() < 0.7:
                self._ask(self._moves.made(self._comes_back(client), client))

    def _outlast(self) -> None:
        """Silence until a timer has fired, or until shortly before."""
        due = self._simulated.next_due()
        if due is None:
            self._silence(QUIET)
            return
        left = due - self._simulated.now
        before = left > 3 * MARGIN_MS and self._rng.random() < 0.15
        self._silence(max(0, left - MARGIN_MS if before else left + MARGIN_MS) / 1000)

    def _silence(self, seconds: float) -> None:
        last = self._steps[-1] if self._steps else None
        if isinstance(last, Silence):
            self._steps[-1] = Silence(round(last.seconds + seconds, 3))
        else:
            self._steps.append(Silence(seconds))
        self._silent += seconds
        self._simulated.wait(round(seconds * 1000))
        self._count(self._simulated)
        self._hear()
        self._since_quiet, self._unheard = 0, len(self._open)

    # -- what comes of them if all goes as planned
    def _play(self, simulated: Any, ask: Ask) -> None:
        simulated.wait(TAKES_MS)
        simulated.handle(self._call(ask))

    def _call(self, ask: Ask) -> Call:
        """The request as the coordinator gets it if all goes as planned."""
        fresh, now = reference(ask.number), self._simulated.now
        return Call(ask.request, str(ask.number), ask.version, fresh, leader=Node(0, "", 0), now_ms=now)

    def _count(self, simulated: Any) -> None:
        self._reached.update(simulated.pairs)
        simulated.pairs = []

    def _hear(self) -> None:
        for reply in self._simulated.taken():
            number = int(reply.to)
            client = self._open.pop(number, None)
            if client is not None:
                self._cast.heard(number, client, reply.message)
                self._follow(number, client, reply.message)

    def _follow(self, number: int, client: Any, message: object) -> None:
        """What a client remembers of the errors that it is told."""
        error = getattr(message, "error_code", None)
        if error is None:
            return
        if error.name in ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"):
            client.member_id, client.out = "", True
        elif error.name in ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"):
            client.out = True
        elif type(message).__name__ == "SyncGroupReply":
            client.owes = False
