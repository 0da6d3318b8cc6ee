"""The desk: one session that a page asks things of, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock

from rota.play.chart import Chart
from rota.play.saving import Named, examples, saved
from rota.play.session import PlayError, Session
from rota.play.view import Json, view
from rota.trace import dumps

LONGEST_WALK = 500
LONGEST_TEXT = 2_000


class Desk:
    """Takes what a page asks, as JSON, and answers so.

    Parameters: session, at which it begins; named, how the system was asked for; facts about it for the page.
    All of it is one after the other: a second page of the same run sees what the first one does.
    """

    def __init__(self, session: Session, named: Named, facts: Mapping[str, str]) -> None:
        self.session, self.named, self.facts = session, named, dict(facts)
        self.version = 0
        self._lock = RLock()
        self._chart: Chart | None = None
        self._asks: Mapping[str, Callable[[Json], Json]] = {
            "look": lambda _: self.look(),
            "step": lambda said: self._go(said, self.session.step(_whole(said, "number"))),
            "to": lambda said: self._go(said, self.session.to(_whole(said, "at"))),
            "restart": lambda _: self._go({}, Session.of(self.session.system)),
            "jump": lambda said: self._go(said, self.session.jumped(_text(said, "expression"))),
            "walk": self._walk,
            "save": self._save,
            "graph": self._picture,
            "node": self._node,
        }

    def ask(self, said: Json) -> Json:
        """What is asked for by `do`. Errors: PlayError."""
        do = said.get("do")
        if not isinstance(do, str) or do not in self._asks:
            raise PlayError(f"nobody can {do!r} here; there is {', '.join(self._asks)}")
        with self._lock:
            return self._asks[do](said)

    def look(self) -> Json:
        """Everything that the page shows."""
        with self._lock:
            title = self.session.system.name
            shown = {"version": self.version, "title": title, "facts": self.facts}
            return {**shown, "examples": examples(self.session), **view(self.session)}

    def _go(self, said: Json, to: Session) -> Json:
        """Stand elsewhere; but not by a page that shows what is no longer so."""
        if said.get("version", self.version) != self.version:
            raise PlayError("the run has gone on in another window; this is how it stands now")
        self.session = to
        self.version += 1
        return self.look()

    def _walk(self, said: Json) -> Json:
        steps, seed = _whole(said, "steps"), _whole(said, "seed")
        if not 1 <= steps <= LONGEST_WALK:
            raise PlayError(f"a walk has between 1 and {LONGEST_WALK} steps")
        return self._go(said, self.session.walked(steps, seed))

    def _save(self, said: Json) -> Json:
        trace = saved(self.session, self.named, _text(said, "expression", empty=True))
        name = f"{self.named.configuration or 'run'}-{self.session.at}-steps.jsonl"
        reached = trace.origin.reach
        what = (
            f"a run to a state in which {reached}"
            if reached
            else f"a run that violates {trace.property_name}"
        )
        return {"name": name, "content": dumps(trace), "what": what}

    def _picture(self, said: Json) -> Json:
        """The graph from the start of the run or from here; the one that is there, with its marks, else."""
        around = said.get("around")
        if around in ("start", "here") or self._chart is None:
            at = self.session.at if around == "here" else 0
            self._chart = Chart.of(self.session, at)
        return self._chart.drawn(self.session)

    def _node(self, said: Json) -> Json:
        chart, number = self._chart, _whole(said, "number")
        if chart is None or number >= len(chart.graph.nodes):
            raise PlayError("there is no such state in the picture; draw it again")
        return self._go(said, self.session.led((*chart.before, *chart.graph.way(number))))


def _whole(said: Json, name: str) -> int:
    value = said.get(name)
    if type(value) is not int or not 0 <= value < 2**53:
        raise PlayError(f"{name} is {value!r}; give a whole number")
    return value


def _text(said: Json, name: str, empty: bool = False) -> str:
    value = said.get(name, "" if empty else None)
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or not (empty or value.strip()):
        raise PlayError(f"{name}: give a text of {LONGEST_TEXT:,} characters at most")
    return value.strip()
