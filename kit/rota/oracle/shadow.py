"""A coordinator that is the real core and is held to the spec at every step.

It stands wherever the core stands: in a lockstep in virtual time, or in rota's server while real clients talk
to it. Each call goes to the core; the spec's outcomes for the same input are computed; one of them must be
what the core did, and the spec goes on from that one. What Kafka leaves to chance is what the core chose.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from rota import coordinator as core
from rota.oracle.follow import AppendedRecord, Followed, Oracle, UnansweredRequest, profile_of
from rota.oracle.report import Divergence, brief_request, shown
from rota.oracle.translate import CoreRequest, core_group, spec_timer, to_spec
from rota.server import running
from rota.spec import Call, Group, GroupRecord, Spec, Step
from rota.spec.vocabulary import AppendError

Make = Callable[[core.CoordinatorConfig, core.Choices], core.GroupCoordinator]
NO_ID = "(an id that the core did not ask for)"


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class RecordedChoices:
    """The core's choices, made by somebody else; remembers the last member id."""

    def __init__(self, choices: core.Choices) -> None:
        self._choices = choices
        self.member_id = NO_ID

    def new_member_id(self, prefix: str) -> str:
        """A new id, for the spec to see too."""
        self.member_id = self._choices.new_member_id(prefix)
        return self.member_id

    def now_ms(self) -> int:
        """As the choices say; the spec has no clock."""
        return self._choices.now_ms()

    def protocol(self, tied: tuple[str, ...]) -> str:
        """As the choices say; the spec recognises the outcome."""
        return self._choices.protocol(tied)

    def leader(self, candidates: tuple[str, ...]) -> str:
        """As the choices say; the spec recognises the outcome."""
        return self._choices.leader(candidates)


class Shadow:
    """The core's interface, with the spec in step behind it, for any number of groups.

    Parameters: config and choices, as of the core; make, builds the core; clock, in milliseconds, for the
    dialogue in a report. Calls that the spec does not know (offsets, deletion) go to the core as they are:
    what they do to timers is taken over; they may create a group, or take an Empty one away and bring it
    back, and must leave its visible state alone otherwise.

    Attributes: core; oracle, with the rules used so far; followed, groups by id; divergences, all so far. A
    group is not followed any more after its first one.
    Errors: Divergence out of the call that diverges.
    """

    def __init__(
        self,
        config: core.CoordinatorConfig,
        choices: core.Choices,
        make: Make = core.GroupCoordinator,
        clock: Callable[[], int] = _monotonic_ms,
    ) -> None:
        self._choices = RecordedChoices(choices)
        self._make = make
        self.core = make(config, self._choices)
        self.oracle = Oracle(config, profile_of(config))
        self.followed: dict[str, Followed] = {}
        self.divergences: list[Divergence] = []
        self.requests = 0
        self._appends: dict[int, str] = {}
        self._clock = clock
        self._begin = clock()
        self._moved_to = ""

    @property
    def groups(self) -> Mapping[str, core.Group]:
        """The core's groups."""
        return self.core.groups

    def follow(self, group_id: str) -> Followed:
        """The spec's view of a group."""
        if group_id not in self.followed:
            self.followed[group_id] = Followed(self.oracle, group_id)
            if self._moved_to:
                self.followed[group_id].add_line(self.now, f"a coordinator with {self._moved_to} is at work")
        return self.followed[group_id]

    def join_group(
        self, request: core.JoinGroup, version: int, client_id: str | None, client_host: str, token: Hashable
    ) -> core.Effects:
        """As of the core."""
        ask = partial(self.core.join_group, request, version, client_id, client_host, token)
        return self._request(request, version, token, ask)

    def sync_group(self, request: core.SyncGroup, version: int, token: Hashable) -> core.Effects:
        """As of the core."""
        ask = partial(self.core.sync_group, request, version, token)
        return self._request(request, version, token, ask)

    def heartbeat(self, request: core.Heartbeat, version: int, token: Hashable) -> core.Effects:
        """As of the core."""
        return self._request(request, version, token, partial(self.core.heartbeat, request, version, token))

    def leave_group(self, request: core.LeaveGroup, version: int, token: Hashable) -> core.Effects:
        """As of the core."""
        ask = partial(self.core.leave_group, request, version, token)
        return self._request(request, version, token, ask)

    def fire(self, timer_id: core.TimerId) -> core.Effects:
        """As of the core. The timer must be armed."""
        followed, timer = self.follow(timer_id.group_id), spec_timer(timer_id)
        event = f"timer {timer.name} {timer.member_id}".rstrip() + " is due"
        if timer not in followed.armed and followed.divergence is None:
            raise self._recorded(followed.broken("a timer fires that is not armed", self.now, event))
        followed.armed.pop(timer, None)
        ask = partial(self.core.fire, timer_id)
        return self._step(followed, event, "", ask, lambda spec, group: spec.fire(cast(Group, group), timer))

    def appended(self, append_id: int, error_code: int = 0) -> core.Effects:
        """As of the core. Errors: ValueError for a code of the log that the spec does not know."""
        ask = partial(self.core.appended, append_id, error_code)
        if append_id not in self._appends:
            deleted = {group_id for group_id, one in self.followed.items() if one.deleted is not None}
            return cast(core.Effects, self._outside(ask, deleted))
        error = AppendError(error_code) if error_code else None
        followed = self.follow(self._appends.pop(append_id))
        record = followed.answered(append_id, error is None)
        what = f"{record.kind.value}, generation {record.generation_id}"
        event = f"the log answers {what}: {error.name if error else 'stored'}"
        return self._step(
            followed,
            event,
            "",
            ask,
            lambda spec, group: spec.appended(group, record, error),
        )

    def unload(self) -> core.Effects:
        """As of the core: the coordinator resigns."""
        return self._unload("the coordinator resigns")

    def _unload(self, line: str) -> core.Effects:
        """All groups are unloaded; `line` says so in their dialogues."""
        effects = self.core.unload()
        self._appends.clear()
        for followed in self.followed.values():
            unanswered = tuple(one.spec for one in followed.appends.values())
            followed.appends.clear()
            self._take(followed, line, followed.part(effects), partial(_unloaded, unanswered))
        return effects

    def move(self, config: core.CoordinatorConfig) -> None:
        """The coordinator gives all its groups up; another one, with this config, reads them from the log.

        Of a group it finds the last record that was stored. Errors: Divergence.
        """
        self._unload(f"the coordinator gives the group up to one with {self._room(config)}")
        self.core = self._make(config, self._choices)
        self.oracle.configure(config)
        self._moved_to = self._room(config)
        for followed in self.followed.values():
            if followed.stored is not None and followed.divergence is None:
                followed.stored = 0, followed.stored[1]  # older than whatever this one appends
                self._load(followed, followed.stored[1])

    @staticmethod
    def _room(config: core.CoordinatorConfig) -> str:
        limited = config.group_max_size < core.CoordinatorConfig.group_max_size
        return f"room for {config.group_max_size}" if limited else "room for any number"

    def _load(self, followed: Followed, one: AppendedRecord) -> None:
        """The next coordinator's part of a move: the line about that is there already."""
        self._step(
            followed,
            "",
            "",
            lambda: self.core.load(followed.group_id, one.core),
            lambda spec, _: spec.load(one.spec),
        )

    def diverged(self, group_id: str, what: str) -> Divergence:
        """A divergence that somebody else has noticed after the last step."""
        return self._recorded(self.follow(group_id).broken(what))

    @property
    def now(self) -> int:
        """Milliseconds since the shadow was made."""
        return self._clock() - self._begin

    def __getattr__(self, name: str) -> Any:
        """Whatever else the core has."""
        value = getattr(self.core, name)
        return partial(self._outside_call, value) if callable(value) else value

    def _request(
        self, request: CoreRequest, version: int, token: Hashable, ask: Callable[[], core.Effects]
    ) -> core.Effects:
        self.requests += 1
        address = f"r{self.requests}"
        followed = self.follow(request.group_id)
        followed.waiting[token] = UnansweredRequest(address, version)
        worded = to_spec(request, version)
        self._choices.member_id = NO_ID
        return self._step(
            followed,
            f"{address}: {brief_request(worded, version)}",
            address,
            ask,
            lambda spec, group: spec.handle(group, Call(worded, address, version, self._choices.member_id)),
        )

    def _step(
        self,
        followed: Followed,
        event: str,
        address: str,
        ask: Callable[[], core.Effects],
        spec: Callable[[Spec, Group | None], tuple[Step, ...]],
    ) -> core.Effects:
        if followed.divergence is not None:
            return ask()
        try:
            effects = ask()
        except Exception as failure:
            steps = self.oracle.outcomes(lambda rules: spec(rules, followed.group))
            rule = f" [{steps[0].rules[-1]}]" if steps else ""
            what = f"the coordinator raised {failure!r}{_place(failure)}{rule}"
            raise self._recorded(followed.broken(what, self.now, event, steps)) from failure
        self._take(followed, event, effects, spec, address)
        self._appends.update((append.append_id, followed.group_id) for append in effects.appends)
        return effects

    def _take(
        self,
        followed: Followed,
        event: str,
        effects: core.Effects,
        spec: Callable[[Spec, Group | None], tuple[Step, ...]],
        address: str = "",
    ) -> None:
        """The spec follows what the core has done."""
        if followed.divergence is not None:
            return
        steps = self.oracle.outcomes(lambda rules: spec(rules, followed.group))
        group = self.core.groups.get(followed.group_id)
        try:
            followed.follow(self.now, event, address, effects, group, steps)
        except Divergence as found:
            raise self._recorded(found) from None

    def _recorded(self, found: Divergence) -> Divergence:
        self.divergences.append(found)
        return found

    def _outside_call(self, method: Callable[..., Any], *inputs: Any, **named: Any) -> Any:
        group_id = getattr(inputs[0], "group_id", None) if inputs else None
        named_groups = set() if group_id is None else {group_id}
        return self._outside(partial(method, *inputs, **named), named_groups)

    def _outside(self, ask: Callable[[], Any], group_ids: set[str]) -> Any:
        """A call that the spec does not know: timers are taken over, groups may be created or deleted."""
        result = ask()
        if isinstance(result, core.Effects):
            group_ids |= {effect.timer_id.group_id for effect in result.timers}
            group_ids |= {append.group_id for append in result.appends}
        for group_id in sorted(group_ids):
            self._check_unchanged(self.follow(group_id), result)
        return result

    def _check_unchanged(self, followed: Followed, result: Any) -> None:
        """After a call outside of the spec: nothing in the group may have changed."""
        if isinstance(result, core.Effects):
            followed.take_timers(result, self.now)
        group = core_group(self.core.groups.get(followed.group_id))
        if followed.divergence is None and not followed.adopt(group):
            raise self.diverged(
                followed.group_id, f"a request outside of the spec has changed the group: {shown(group)}"
            )
        self._forget_records(followed)

    def _forget_records(self, followed: Followed) -> None:
        """Of a group that was deleted nobody waits for the log, but whoever is owed an answer."""
        if followed.group is None:
            followed.drop_records_without_answer()
            kept = self._appends.items()
            self._appends = {
                key: name for key, name in kept if name != followed.group_id or key in followed.appends
            }


def _unloaded(unanswered: tuple[GroupRecord, ...], spec: Spec, group: Group | None) -> tuple[Step, ...]:
    return spec.unload(group, unanswered)


def _place(failure: Exception) -> str:
    """Where an exception comes from: the innermost function."""
    frames = traceback.extract_tb(failure.__traceback__)
    return f" in {frames[-1].name}, {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


class Watch:
    """Makes shadows for a server and collects what they saw; `factory` is what a server takes."""

    def __init__(self) -> None:
        self.shadows: list[Shadow] = []

    def factory(self, config: core.CoordinatorConfig, choices: core.Choices) -> core.GroupCoordinator:
        """A shadow in the place of the core."""
        self.shadows.append(Shadow(config, choices))
        return cast(core.GroupCoordinator, self.shadows[-1])

    @property
    def visited(self) -> set[tuple[str, str]]:
        """Pairs (slug of a rule, state of the group before the step) that were seen."""
        return {pair for shadow in self.shadows for pair in shadow.oracle.visited}

    @property
    def requests(self) -> int:
        """Requests of the membership protocol that were compared."""
        return sum(shadow.requests for shadow in self.shadows)

    def check(self) -> None:
        """Raises the first Divergence, if there was one. (A server logs it and closes the connection.)"""
        for shadow in self.shadows:
            for found in shadow.divergences:
                raise found


@contextmanager
def watched(config: Mapping[str, object] | None = None, port: int = 0) -> Iterator[tuple[str, Watch]]:
    """rota's server with the spec in step while the block runs; gives "127.0.0.1:PORT" and the watch.

    Errors: as of `rota.server.running`; Divergence after the block.
    """
    watch = Watch()
    with running(config, port, coordinator=watch.factory) as address:
        yield address, watch
    watch.check()
