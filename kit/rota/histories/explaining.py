"""What happened to one group, as `rota explain` tells it: its incidents as rows."""

from __future__ import annotations

from collections.abc import Iterable

from rota.explain.as_json import incident_as_json
from rota.explain.diagnosis import Diagnosis, account
from rota.explain.worst import Explainer, Wanted
from rota.histories.runs import Row
from rota.histories.tables import micros
from rota.history import Event
from rota.validate.terms import Terms


class Explaining:
    """Takes what is for one group, in the order of time. Parameters: cluster; group; terms."""

    def __init__(self, cluster: str, group: str, terms: Terms) -> None:
        self._key = cluster, group
        self._found: list[Diagnosis] = []
        wanted = Wanted(frozenset({group}), terms.since, terms.until)
        asked = bool(group) and terms.group in ("", group)
        self._explainer = Explainer(wanted, 0, self._found.append) if asked else None

    def take(self, event: Event) -> None:
        """The next event."""
        if self._explainer is not None:
            self._explainer.take(event)

    def rows(self, ends: float) -> Iterable[Row]:
        """A row for each incident, by time, when all events were taken. ends: when all sources end."""
        if self._explainer is not None:
            accounts = self._explainer.accounts
            accounts.now = accounts.now and max(accounts.now, ends)
            self._explainer.done()
        return [self._row(one) for one in sorted(self._found, key=lambda one: one.incident.began or 0.0)]

    def _row(self, one: Diagnosis) -> Row:
        told = incident_as_json(one)
        return (
            *self._key,
            *(micros(told[name]) for name in ("began", "ended")),
            *(told[name] for name in ("open", "seconds", "rebalances", "cause", "title")),
            one.cause.routine,
            told["sentence"],
            told["members"],
            told["rule"] or "",
            [f"{change['setting']}: {change['words']}" for change in told["change"]],
            sorted(told["without_consumer"].items()),
            [". ".join(account(each)) for each in one.incident.told],
            [rests["origin"] for rests in told["rests_on"]],
        )
