"""Versions that a target advertises and cannot read, or cannot be read in: walks go on below them.

A walk whose members all join by such a version comes to nothing else. So where walks have met one a few
times, and never an answer in it, those that follow ask by the version below, and so do polite members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from rota.generate.cast import Terms
from rota.generate.consumer.planned import Planned
from rota.generate.plan import Ask, Plan, Step
from rota.generate.player import Played
from rota.generate.requests import SEVERAL_LEAVE, carried
from rota.spec import LeaveGroupRequest

ENOUGH = 3
"""Walks in which a version was not answered, and after which it is left out; as many show a known one."""


class Unread:
    """What walks have shown of versions. first: of an API the first version that is left out.

    known: the same, as a probe has found it. The first walks ask in these versions all the same, so that what
    comes of that is told; the others need not learn it.
    """

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self.first: dict[str, int] = {}
        self._known, self._plans = known or {}, 0
        self._answered: dict[str, int] = {}
        self._failed: Counter[tuple[str, int]] = Counter()

    def hear(self, played: Played) -> None:
        """What was seen in a walk."""
        answered = {(one.api, one.version) for one in played.messages if one.api and not one.sent}
        for api, version in answered:
            self._answered[api] = max(version, self._answered.get(api, version))
        sent = {(one.api, one.version) for one in played.messages if one.api and one.sent}
        for api in {api for api, _ in played.odd}:
            above = [version for name, version in sent - answered if name == api and self._new(api, version)]
            if above:
                self._failed[api, min(above)] += 1
        for (api, version), count in self._failed.items():
            if count >= ENOUGH and self._new(api, version):
                self.first[api] = min(version, self.first.get(api, version))

    def _new(self, api: str, version: int) -> bool:
        """Whether nothing was ever answered in it, or in a later one; the first version has none below."""
        return 0 < version > self._answered.get(api, -1)

    def below(self, plan: Plan) -> Plan:
        """The plan without these versions."""
        self._plans += 1
        if self._plans > ENOUGH:
            self.first = {**self._known, **self.first}
        left_out = {**dict(plan.below), **self.first}
        steps = tuple(found for step in plan.steps if (found := _below(step, left_out)) is not None)
        return replace(plan, steps=steps, below=tuple(sorted(left_out.items())))


def _below(step: Step, first: dict[str, int]) -> Step | None:
    """The step by a version below these, as far as that one can say it; None if it can say nothing of it."""
    if not isinstance(step, Ask) or step.version < first.get(step.api, step.version + 1):
        return step
    request, version = step.request, first[step.api] - 1
    if isinstance(request, Planned):
        return None
    if isinstance(request, LeaveGroupRequest) and version < SEVERAL_LEAVE:
        if not request.members:
            return None
        request = replace(request, members=request.members[:1])
    return replace(step, version=version, request=carried(request, version))


def spoken_in(plan: Plan, terms: Terms) -> Terms:
    """The terms, without the versions that a plan leaves out."""
    versions = dict(terms.versions)
    for api, version in plan.below:
        if api in versions:
            versions[api] = versions[api][0], min(versions[api][1], version - 1)
    return replace(terms, versions=versions)
