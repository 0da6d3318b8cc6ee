"""Steps that most cases begin with: newcomers become one group, a group becomes Stable."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rota.conformance.dialogues.dialogue import A_WHILE, Dialogue, Member, PendingRequest, Reply
from rota.conformance.dialogues.failures import Deviation, SetupFailed

_LEFT_WAITING = 0.3
"""Seconds after which a newcomer still waits although others were answered: these have to join again.

Twice as long after each time, up to a limit: on a target that answers everybody by a clock of its own they
would miss each other for ever.
"""

_LONGEST = 5.0
"""The limit of that, in seconds."""

ON_ITS_WAY = 0.1
"""Seconds that a request may take to reach the target, where another one on its own connection comes next."""

_UNHURRIED = 3
"""So many times longer it may take to a target that may take its time."""

ROUNDS = 20
"""How often members are made to join again before they are no group; a few are usual on a busy machine."""

_TOGETHER = "one generation with everyone in it"

_BARRIER = "join.barrier"
"""The rule by which newcomers come into one generation: all wait for all, and then nobody waits any more."""


@dataclass(frozen=True)
class FormedGroup:
    """A group in one generation: who leads it, who follows, and the join answers by member name."""

    leader: Member
    followers: tuple[Member, ...]
    replies: dict[str, Reply]

    @property
    def everyone(self) -> tuple[Member, ...]:
        """The leader first."""
        return (self.leader, *self.followers)

    @property
    def roles(self) -> dict[str, str]:
        """What each member is, by name."""
        letters = ("", *(f"-{letter}" for letter in "bcdefgh"))
        followers = {m.name: f"follower{letter}" for m, letter in zip(self.followers, letters, strict=False)}
        return {self.leader.name: "leader", **followers}

    @property
    def assignments(self) -> dict[str, bytes]:
        """What `stable` has the leader hand out: for each member id bytes that name the member."""
        return {member.member_id: f"for {member.name}".encode() for member in self.everyone}


def join_together(dialogue: Dialogue, *members: Member, one_by_one: bool = False) -> FormedGroup:
    """Bring newcomers into a group, all in one generation, where that is what the rule is about.

    one_by_one: each joins when the group is Stable with those before it, so it is not the first generation.
    Errors: SetupFailed where nobody waits for the others, for then there is nothing to be seen of any rule
    but that.
    """
    transcript = dialogue.transcript
    first = len(transcript.lines)
    try:
        formed = _one_by_one(dialogue, members) if one_by_one else _Formation(dialogue, members).run()
    except (Deviation, SetupFailed):
        transcript.fold(first)
        raise
    transcript.formed(formed.roles, formed.leader.generation_id)
    answers = (
        (m.name, "←", transcript.answer("JoinGroup", formed.replies[m.name].body)) for m in formed.everyone
    )
    transcript.fold(first, *answers)
    return formed


def awaiting_assignments(dialogue: Dialogue, *members: Member, one_by_one: bool = False) -> FormedGroup:
    """Bring newcomers into a group, all in one generation, which is then CompletingRebalance.

    one_by_one: as of `join_together`.
    """
    names = ", ".join(member.name for member in members)
    with dialogue.reaching(f"a group of {names}"):
        return join_together(dialogue, *members, one_by_one=one_by_one)


def join_again(dialogue: Dialogue, *members: Member) -> FormedGroup:
    """Bring the members of a group that rebalances into its next generation."""
    return _Formation(dialogue, (), members).run()


def stable(dialogue: Dialogue, *members: Member) -> FormedGroup:
    """Bring newcomers into a group and let it become Stable: everyone has its assignment."""
    formed = awaiting_assignments(dialogue, *members, one_by_one=dialogue.way.one_by_one)
    with dialogue.reaching("a Stable group"):
        distribute_assignments(dialogue, formed)
    return formed


def distribute_assignments(dialogue: Dialogue, formed: FormedGroup) -> None:
    """Followers sync first and wait; the leader's assignment releases them."""
    waiting = [member.send_sync() for member in formed.followers]
    let_arrive(dialogue)
    dialogue.expect(formed.leader.sync(formed.assignments), error="NONE")
    for sync in waiting:
        dialogue.expect(sync.answer(), error="NONE", rule="sync.follower-waits")


def lead(d: Dialogue, leader: Member, *others: Member) -> FormedGroup:
    """A group of which this one is the leader, in its second generation, assignments still to come."""
    stable(d, leader)
    with d.reaching(f"a group that {leader.name} leads, with {', '.join(m.name for m in others)}"):
        waiting = {member.name: member.enter() for member in others}
        let_arrive(d)
        for join in waiting.values():
            _still_waits(d, join)
        waiting[leader.name] = leader.send_join()
        replies: dict[str, Reply] = {}
        for name, join in waiting.items():
            replies[name] = join.answer()
            if name != leader.name:
                _not_overtaken(leader, waiting[leader.name])
            d.expect(replies[name], error="NONE", leader=leader.member_id)
    return FormedGroup(leader, others, replies)


def let_arrive(d: Dialogue, share: float = 1.0) -> None:
    """Give what was sent the time to reach the target before something on another connection does."""
    time.sleep(ON_ITS_WAY * share * (_UNHURRIED if d.cold else 1))


def _not_overtaken(leader: Member, join: PendingRequest) -> None:
    """The leader's JoinGroup was not there before those of the others, which were sent before it."""
    reply = join.answered = join.poll()
    if reply is not None and reply.error == "NONE" and reply.member_ids == {leader.member_id}:
        raise Deviation("a generation of all", f"one of {leader.name} alone", _BARRIER, late=True)


def _still_waits(d: Dialogue, join: PendingRequest) -> None:
    """A newcomer is not answered before those who are there have joined again."""
    if (reply := join.poll()) is not None:
        d.expect(reply, error="NONE")
        came = d.transcript.answer("JoinGroup", reply.body)
        raise Deviation("no answer to JoinGroup before the leader joins again", came, _BARRIER)


def lead_stable(d: Dialogue, leader: Member, *others: Member) -> FormedGroup:
    """As `lead`, and everyone has its assignment."""
    formed = lead(d, leader, *others)
    with d.reaching("a Stable group"):
        distribute_assignments(d, formed)
    return formed


def all_leave(d: Dialogue, *members: Member) -> None:
    """Let all members of the group leave."""
    with d.reaching("an empty group"):
        for member in members:
            d.expect(member.leave(), error="NONE")


def _one_by_one(dialogue: Dialogue, members: tuple[Member, ...]) -> FormedGroup:
    formed = _Formation(dialogue, members[:1]).run()
    for number, newcomer in enumerate(members[1:], 1):
        distribute_assignments(dialogue, formed)
        formed = _Formation(dialogue, (newcomer,), members[:number]).run()
    return formed


class _Formation:
    """Sends JoinGroup until all are answered in the same generation, whatever the target's initial delay.

    The newcomers join; those who are there already join again.
    """

    def __init__(
        self, dialogue: Dialogue, newcomers: tuple[Member, ...], there: tuple[Member, ...] = ()
    ) -> None:
        self._dialogue = dialogue
        self._newcomers = newcomers
        self._there = there
        self._members = (*there, *newcomers)
        self._rounds = 0
        self._waiting: dict[str, PendingRequest] = {}
        self._replies: dict[str, Reply] = {}
        self._handed_out: set[str] = set()
        self._last = 0.0

    def run(self) -> FormedGroup:
        self._enter()
        self._last = time.monotonic()
        while time.monotonic() < self._last + self._dialogue.patience:
            self._dialogue.go_on()
            self._listen()
            if self._waiting:
                self._call_back()
            else:
                formed = self._judge()
                if formed is not None:
                    return formed
        raise Deviation(
            _TOGETHER, f"no answer to {', '.join(self._waiting)} in {self._dialogue.patience:g} s", _BARRIER
        )

    def _enter(self) -> None:
        """One after the other, so that the first one leads on targets where the first to join leads."""
        handshake = self._dialogue.versions["JoinGroup"] >= 4
        for member in self._newcomers:
            self._waiting[member.name] = member.send_join("")
            asked = handshake and not member.settings.get("group_instance_id")
            reply = self._waiting[member.name].poll(A_WHILE / 2) if asked else None
            if reply is not None:
                self._take(member, reply)
            elif asked:
                handshake = False  # this target lets newcomers wait
            if member is not self._members[-1]:
                let_arrive(self._dialogue, 0.5)
        for member in self._there:
            self._waiting[member.name] = member.send_join()

    def _listen(self) -> None:
        for member in self._members:
            waiting = self._waiting.get(member.name)
            reply = waiting.poll(0.02) if waiting else None
            if reply is None:
                continue
            self._last = time.monotonic()
            self._take(member, reply)

    def _take(self, member: Member, reply: Reply) -> None:
        """An answer: join with the id that was handed out, or keep what was granted."""
        del self._waiting[member.name]
        if reply.error == "MEMBER_ID_REQUIRED" and member.name not in self._handed_out:
            self._handed_out.add(member.name)
            self._waiting[member.name] = member.send_join()
            return
        self._dialogue.expect(reply, error="NONE", rule=self._rule_of_joining(member))
        self._replies[member.name] = reply

    def _rule_of_joining(self, member: Member) -> str:
        """By which rule the JoinGroup of this one is granted."""
        if member in self._there:
            return "join.leader-rejoins" if member is self._there[0] else "join.while-preparing"
        if "group_instance_id" in member.settings:
            return "static.new-member"
        return "join.pending-member" if member.name in self._handed_out else "join.new-member"

    def _call_back(self) -> None:
        if self._replies and time.monotonic() - self._last > min(_LEFT_WAITING * 2**self._rounds, _LONGEST):
            self._rejoin([member for member in self._members if member.name in self._replies])

    def _judge(self) -> FormedGroup | None:
        newest = max(member.generation_id for member in self._members)
        stale = [member for member in self._members if member.generation_id < newest]
        if stale:
            self._rejoin(stale)
            return None
        leaders = [m for m in self._members if self._replies[m.name]["leader"] == m.member_id]
        if len(leaders) != 1:
            raise Deviation("one leader", f"{len(leaders)} members that are named leader", "join.leader")
        followers = tuple(member for member in self._members if member is not leaders[0])
        return FormedGroup(leaders[0], followers, self._replies)

    def _rejoin(self, members: list[Member]) -> None:
        if self._rounds == ROUNDS:
            each = ", ".join(f"{m.name} in generation {m.generation_id}" for m in self._members)
            raise SetupFailed(_TOGETHER, _TOGETHER, f"told to join again {ROUNDS} times: {each}", _BARRIER)
        self._rounds += 1
        for member in members:
            self._replies.pop(member.name, None)
            self._waiting[member.name] = member.send_join()
        self._last = time.monotonic()
