"""rota's own server as a target that is started for each case, restarts and all; its steps are recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from harness.kept_server import KeptServer, changing
from harness.recorded_calls import Life, recording
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.script import Case, Script
from rota.conformance.profiles import for_profile
from rota.conformance.results import CaseResult
from rota.conformance.rules import CONSUMER
from rota.conformance.runner import Options, divide, play_all
from rota.conformance.targets.remote import Embedded
from rota.conformance.targets.restarting import Alone
from rota.conformance.targets.target import Running, Target
from rota.coordinator import GroupCoordinator
from rota.server.broker import CoordinatorFactory

OPTIONS = Options(seed=1, patience=10.0, slow=True)

AT_A_TIME = 16
"""Dialogues. More would make the timers of one late by the work of the others."""


@dataclass(frozen=True)
class OwnServer(Target):
    """A server in this process, of a profile; `coordinator` says for each script how that is made."""

    profile: str = ""
    coordinator: Callable[[Script], CoordinatorFactory] = lambda script: GroupCoordinator

    def start_for(self, script: Script) -> Running:
        """As of `Target`: what is restarted in the script keeps its groups in a folder."""
        settings, made = self.settings_for(script), self.coordinator(script)
        if script.restarts is not None:
            server = KeptServer(settings, made, self.profile)
            return Alone(server, script.restarts, lambda: server.add(script.settings_after))
        return Embedded(settings, made, self.profile)


def own_server(
    profile: str, coordinator: Callable[[Script], CoordinatorFactory] = lambda script: GroupCoordinator
) -> OwnServer:
    """The server as a target."""
    return OwnServer(
        "rota",
        partial(Embedded, profile=profile),
        fresh=True,
        parallel=AT_A_TIME,
        settable=True,
        restarting=lambda settings, how: Alone(KeptServer(settings, profile=profile), how),
        changing=changing,
        profile=profile,
        coordinator=coordinator,
    )


def playable(profile: str, options: Options = OPTIONS) -> list[Case]:
    """The cases of the classic protocol that one broker of this profile can be judged by."""
    cases, _ = for_profile([case for case in all_cases() if case.part != CONSUMER], profile)
    return divide(cases, own_server(profile), options)[0]


def played(cases: Sequence[Case], profile: str, options: Options = OPTIONS) -> list[CaseResult]:
    """The results of cases on the server as its coordinator is now."""
    with closing(own_server(profile)) as target:
        return list(play_all(cases, target, options, {}))


def recorded(cases: Iterable[Case], profile: str) -> tuple[dict[str, list[Life]], list[CaseResult]]:
    """What the cases, by id, make the server ask of its coordinators, and the results."""
    lives: dict[str, list[Life]] = {}

    def coordinator(script: Script) -> CoordinatorFactory:
        lives[script.id] = []
        return partial(recording, lives[script.id])

    with closing(own_server(profile, coordinator)) as target:
        results = list(play_all([*cases], target, OPTIONS, {}))
    return lives, results
