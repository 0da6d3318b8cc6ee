"""The coordinator core beside the spec on a stage: it gets the same inputs, or the script is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota import coordinator as core
from rota.oracle import Input, Lockstep, Moved, Resigned
from rota.oracle.translate import CoreRequest
from rota.spec import BrokerConfig, Group, Hosting, Timer


class NotBesideCore(Exception):
    """A script does what the core beside the spec would not be told, so it would be held to nothing."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}, and the core beside the spec is not told of that: play the script on the spec alone, "
            "with alone=True for a scenario or a row, with beside=False for a stage"
        )


class CoreBeside:
    """A core in lockstep with the spec. config: of the broker; what the core does not know is left out."""

    def __init__(self, config: BrokerConfig) -> None:
        known = core.CoordinatorConfig.__dataclass_fields__.keys() & config.__dataclass_fields__.keys()
        self._lockstep = Lockstep(core.CoordinatorConfig(**{name: getattr(config, name) for name in known}))

    @staticmethod
    def check_request(request: Any, hosting: Hosting) -> None:
        """Errors: NotBesideCore for a request that another part of a broker answers."""
        name = type(request).__name__
        if not isinstance(request, CoreRequest):
            raise NotBesideCore(f"{name} is no request of the membership")
        if hosting is not Hosting.ACTIVE:
            raise NotBesideCore(f"{name} reaches a broker that is {hosting.name} for the group")

    @staticmethod
    def check_settings(settings: Mapping[str, Any], hosting: Hosting) -> None:
        """Errors: NotBesideCore for settings that a core does not take over with the group."""
        if hosting is Hosting.ACTIVE or settings.keys() - {"group_max_size"}:
            raise NotBesideCore(
                f"{', '.join(settings)} changes while a coordinator is at work, or more than the size"
            )

    def give_up(self, found: int, now: int) -> None:
        """The core resigns. Errors: NotBesideCore if appends in flight are in the log all the same."""
        if found:
            raise NotBesideCore("the log has what it did not answer")
        self.do(Resigned(), now)

    def load(self, group_max_size: int, now: int) -> None:
        """Another core reads what the log has stored."""
        self.do(Moved(group_max_size), now)

    def do(self, one: Input, now: int) -> None:
        """One input at this time. Errors: Divergence of the core."""
        self._lockstep.now = now
        assert self._lockstep.do(one), f"not possible for the coordinator: {one}"

    def compare(self, group: Group | None, armed: Mapping[Timer, int]) -> None:
        """The core must stand where the stage stands."""
        assert self._lockstep.group == group, "coordinator and spec chose differently"
        assert self._lockstep.followed.armed == armed, "coordinator and spec differ in timers"
