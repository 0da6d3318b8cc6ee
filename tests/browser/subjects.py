"""The pages that are driven, made as a person makes them where that is quick, and of strangers' texts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread

from traffic_light import crossing

from harness import scenes
from harness.nights import LATE, Night, member
from harness.recorded_frames import recorded
from rota.conformance.catalogue import all_cases
from rota.history import Kind, line_of
from rota.kernel import Arrow, Lane, State, System, Transition
from rota.mutants import system as system_of
from rota.mutants.core import core_bugs, planted
from rota.pages.trace_page import page
from rota.play import Session
from rota.scopes import load
from rota.trace import Component, Difference, dumps, read, record, telling
from rota.trace.story import Claim, Event, Light, Moment, Story

ROOT = Path(__file__).parents[2]

HOSTILE = "</script><img src=x onerror=alert(1)>"
"""A client id that would run something, if a page let it."""

LONG = 200
"""Steps of the run by which it is judged how a large page opens."""

SLOW = 120
"""Seconds that a command has, on a machine that does something else too."""


def rota(folder: Path, *arguments: str, codes: Iterable[int] = (0,)) -> str:
    """What a command of rota's prints, called in a folder. It must end with one of the codes."""
    done = subprocess.run(
        [sys.executable, "-m", "rota", *arguments],
        cwd=folder,
        env={**os.environ, "ROTA_TABLES": "off", "PYTHONPATH": str(ROOT / "tests/systems")},
        capture_output=True,
        text=True,
        timeout=SLOW,
        check=False,
    )
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout


def trace_of(folder: Path, *check: str) -> Path:
    """The trace that `rota check` leaves, with these arguments."""
    rota(folder, "check", *check, "--out", ".", codes=[1])
    (trace,) = folder.glob("trace-*.jsonl")
    return trace


def as_html(trace: Path, *more: str) -> Path:
    """The page that `rota trace` makes of a trace."""
    html = trace.with_suffix(".html")
    html.write_text(rota(trace.parent, "trace", trace.name, "--as", "html", *more), encoding="utf-8")
    return html


def counterexample(folder: Path) -> Path:
    """A mistake in the rules, found: the run that ends with two members who think they lead."""
    found = ("--mutant", "barrier-ignores-pending", "--configuration", "rejoin", "--engine", "reference")
    return as_html(trace_of(folder, *found))


def lasso(folder: Path) -> Path:
    """A run that never ends, of a system that is not rota's: no generations, no owners."""
    made = crossing()
    start = state = next(iter(made.initial_states()))
    path: list[Transition] = []
    for label in ("the car comes", "the light turns green", "the light turns red"):
        path.append(next(one for one in made.successors(state) if one.label == label))
        state = path[-1].target
    trace = folder / "lasso.jsonl"
    trace.write_text(dumps(record(made, "car.crosses", start, path, cycle=2)), encoding="utf-8")
    return as_html(trace, "--system", "traffic_light:crossing")


def long_run(folder: Path) -> Path:
    """As many steps of large worlds as `LONG`: several walks drawn by lot, one after the other."""
    (settings,) = (one.settings for one in load("nightly").configurations if one.name == "four-move")
    walks = (Session.of(system_of(settings)).walked(LONG, seed) for seed in count(1))
    story = telling.told(*_of(next(walks)))
    while len(story.events) < LONG:
        further = telling.told(*_of(next(walks)))
        number = len(story.events)
        events = [replace(one, index=one.index + number) for one in further.events][: LONG - number]
        moments = (*story.moments, *further.moments[1 : len(events) + 1])
        story = replace(story, events=(*story.events, *events), moments=moments)
    html = folder / "long.html"
    html.write_text(page(story), encoding="utf-8")
    return html


def _of(session: Session) -> tuple[System, Sequence[State], Sequence[Transition]]:
    return session.system, session.states, session.path


def strangers(folder: Path) -> Path:
    """A run in which every text that is not rota's own would run something."""
    html = folder / "strangers.html"
    html.write_text(page(story_of_strangers()), encoding="utf-8")
    return html


def story_of_strangers(text: str = HOSTILE) -> Story:
    """A run whose every text is this one."""
    lanes = (Lane(text, text, text), Lane(f"2 {text}", text, text))
    moments = tuple(
        Moment(
            values=(Component(text, f"{text} {number}", "00"),),
            captions={text: (text, text)},
            bands={text: f"{text} {number // 2}"},
            owners={text: (text, f"2 {text}")},
            lights={text: (Light.HOLDS, Light.SILENT, Light.VIOLATED)[number % 3]},
        )
        for number in range(9)
    )
    events = tuple(
        Event(
            index=number,
            label=text,
            machine=text,
            at=text,
            arrows=(Arrow(text, f"2 {text}", text, lost=number % 2 == 0),),
            differences=(Difference(text, text, text, f"{text} {number}"), Difference(text, "", None, text)),
            rules=(text,),
            detail=(text, text),
        )
        for number in range(1, 9)
    )
    return Story(
        title=text,
        verdict=text,
        facts=((text, text), ("meaning", text)),
        lanes=lanes,
        events=events,
        moments=moments,
        claims=(Claim(text, text, text),),
        why=(text, f"step 2 {text}"),
        cycle=2,
        copies={text: text, "Mermaid": text},
        notice=text,
    )


@cache
def report(folder: Path) -> Path:
    """The report on librdkafka's mock cluster, which does some things otherwise; made once in a folder."""
    html = folder / "conform.html"
    chosen = (
        "heartbeat.invalid-group-id",
        "heartbeat.alive",
        "heartbeat.unknown-member",
        "leave.unknown-group",
    )
    files = ("--report", f"html={html}", "--report", f"json={folder / 'mock.json'}")
    rota(
        folder,
        "conform",
        "--target",
        "librdkafka-mock",
        "--timeout",
        "3",
        "--quiet",
        *files,
        *chosen,
        codes=[1],
    )
    return html


@cache
def side_by_side(folder: Path) -> Path:
    """That mock and rota's own server, from the reports on both."""
    html = report(folder).with_name("both.html")
    own = ("--embedded", "--quiet", "--report", "json=own.json")
    rota(folder, "conform", *own, "heartbeat.unknown-member", "leave.unknown-group")
    rota(folder, "conform", "--matrix", "own.json", "mock.json", "--report", f"html={html}", codes=[1])
    return html


def changes(folder: Path) -> Path:
    """What would be new if that mock took the place of rota's own server."""
    html = side_by_side(folder).with_name("changes.html")
    rota(folder, "conform", "--diff", "own.json", "mock.json", "--report", f"html={html}", codes=[1])
    return html


def account(folder: Path) -> Path:
    """Nights of a group, and of one whose name and members would run something."""
    night = Night().come(0, member("worker", 1), 0, 1, took=3, state="Empty")
    night.leave(60, member("worker", 1), 1, 0, reason=LATE)
    strange = Night(HOSTILE).say(100, Kind.REFUSED, HOSTILE, reason="FENCED_INSTANCE_ID")
    for number in range(20):
        strange.fail(200 + number * 3.0, f"{number} {HOSTILE}", number, 1)
    log = folder / "account.jsonl"
    log.write_text("".join(f"{line_of(one)}\n" for one in (*night.events, *strange.events)), encoding="utf-8")
    rota(folder, "explain", log.name, "--report", "html=account.html")
    return log.with_suffix(".html")


def judged(folder: Path) -> Path:
    """Recordings of groups in which a coordinator's bugs show; the name of one would run something."""
    settings = [part for name, value in scenes.SETTINGS.items() for part in ("--set", f"{name}={value}")]
    for bug, scene in (
        ("described-while-rebalancing", scenes.late_members),
        ("generation-before-member-in-heartbeat", scenes.sessions),
        ("only-names-compared", scenes.rejoining),
    ):
        with (
            planted(core_bugs()[bug]),
            ThreadPoolExecutor(1) as beside,
        ):  # what drives the browser has a loop here
            lines = map(line_of, beside.submit(recorded, scene, "kafka-4.x").result())
        text = "".join(f"{line}\n" for line in lines)
        if scene is scenes.rejoining:
            text = text.replace(json.dumps("rejoining"), json.dumps(HOSTILE))
        (folder / f"{scene.__name__}.jsonl").write_text(text, encoding="utf-8")
    rota(folder, "validate", ".", *settings, "--report", "html=judged.html", codes=[1])
    return folder / "judged.html"


FILES: Mapping[str, str] = {
    "account": "account",
    "judged": "judged",
    "trace": "counterexample",
    "lasso": "lasso",
    "long": "long_run",
    "strangers": "strangers",
    "report": "report",
    "side by side": "side_by_side",
    "changes": "changes",
}
"""Name of a page -> the function of this module that makes it."""


def texts_of_trace(html: Path) -> list[str]:
    """Labels and rules of every step."""
    trace = read(html.with_suffix(".jsonl").read_text(encoding="utf-8"))
    rules = [rule for step in trace.steps for part in step.local_steps for rule in part.rules]
    return [trace.property_name, *(step.label for step in trace.steps), *rules]


def texts_of_report(html: Path) -> list[str]:
    """Every case with what it requires."""
    cases = re.findall('id="(?:t[12]-|after-)?case-([^"]*)"', html.read_text(encoding="utf-8"))
    requirements = {case.id: case.requirement for case in all_cases()}
    assert cases
    return [text for case in cases for text in (case, requirements[case])]


TEXTS: Mapping[str, Callable[[Path], list[str]]] = {
    "account": lambda _: [HOSTILE, "Slow poll", "max.poll.interval.ms", "Groups, the costliest first"],
    "judged": lambda _: [
        HOSTILE,
        "admin.describe",
        "ILLEGAL_GENERATION",
        "late_members.jsonl#32",
        "What was said last",
    ],
    "trace": texts_of_trace,
    "lasso": texts_of_trace,
    "strangers": lambda _: [HOSTILE],
    "report": texts_of_report,
    "side by side": texts_of_report,
    "changes": texts_of_report,
    "docs": lambda _: ["rota"],
}
"""Name of a page -> what can be read on it, off its file."""


STRANGER = f"""
from collections.abc import Sequence
from typing import Any

from rota.kernel import Kind, Outcome, Property, System, View

TEXT = {HOSTILE!r}


class Stranger:
    name = role = TEXT

    def initial(self) -> Sequence[str]:
        return (TEXT,)

    def actions(self, value: str) -> Sequence[Outcome]:
        return (Outcome(value + "!", label=TEXT, rules=(TEXT,)),) if len(value) < 50 else ()

    def receive(self, value: str, sender: str, message: Any) -> Sequence[Outcome]:
        return ()


def system() -> System:
    view = View(TEXT, lambda value: value)
    claim = Property(TEXT, Kind.SAFETY, TEXT, (view,), lambda value: len(value) < 45)
    return System(TEXT, (Stranger(),), (claim,))
"""
"""A system in which every name and text would run something."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing; a browser asks for an icon that no page names."""

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder of files behind an address, as a site is."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@contextmanager
def playing(*arguments: str, folder: Path = ROOT) -> Iterator[str]:
    """`rota play` in a folder, for as long as it is looked at. Gives its address."""
    command = [sys.executable, "-m", "rota", "play", "--no-browser", "--idle", "5", *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = ""
            while not (found := re.search(r"http://127[.]0[.]0[.]1:\S+", said)):
                line = process.stdout.readline()
                assert line, f"it ended: {said}"
                said += line
            yield found[0]
        finally:
            process.terminate()
