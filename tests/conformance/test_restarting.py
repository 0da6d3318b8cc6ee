"""Servers that are ended and started again: for one dialogue alone, or once for several that wait for it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.kept_server import KeptServer, kept_target
from rota.conformance.cases import restart_groups
from rota.conformance.catalogue import all_cases, select
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.failures import Interrupted
from rota.conformance.dialogues.script import Signal
from rota.conformance.results import Ending, Verdict
from rota.conformance.runner import Options, divide, play_all
from rota.conformance.targets import restarting
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.guard import IN_GOOD_ORDER, guarded
from rota.conformance.targets.process import NotStarted, Process
from rota.conformance.targets.restarting import Alone, Guest, Rendezvous, Shared

HERE = ("127.0.0.1", 1)
SERVE = f"{sys.executable} -m rota serve --port {{port}}"
KEPT = "offsets.stored.kept-after-"


class Told:
    """A server that only notes what is done with it."""

    address = HERE

    def __init__(self, fails: bool = False) -> None:
        self.done: list[str] = []
        self._fails = fails

    def post_mortem(self, grace: float) -> str | None:
        return None

    def end(self, address: tuple[str, int], how: Signal) -> None:
        self.done.append(how)

    def start_again(self) -> None:
        if self._fails:
            raise NotStarted("it is broken")
        self.done.append("again")

    def stop(self) -> None:
        self.done.append("stop")


def go_on() -> None:
    """Nobody interrupts."""


def restarted(guest: Guest) -> None:
    guest.end(HERE, go_on)
    guest.start_again()


@pytest.fixture
def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(8)


def waits(future: Future[None], seconds: float = 0.8) -> bool:
    """Whether it is not over although there was time for it."""
    time.sleep(seconds)
    return not future.done()


def test_a_server_ends_once_when_all_want_it(pool: ThreadPoolExecutor) -> None:
    server = Told()
    place = Rendezvous(lambda: server)
    a, b, c = (place.enter(Signal.KILL) for _ in "abc")
    first = pool.submit(restarted, a)
    second = pool.submit(restarted, b)
    assert waits(first)
    assert server.done == []
    c.stop()
    first.result(10)
    second.result(10)
    assert server.done == ["SIGKILL", "again"]


def test_who_is_still_there_after_a_restart_is_not_disturbed(pool: ThreadPoolExecutor) -> None:
    server = Told()
    place = Rendezvous(lambda: server)
    a = place.enter(Signal.TERM)
    restarted(a)
    late = place.enter(Signal.TERM)
    next_one = pool.submit(restarted, late)
    assert waits(next_one)
    a.stop()
    next_one.result(10)
    assert server.done == ["SIGTERM", "again"] * 2


def test_who_ends_it_by_another_signal_comes_later(pool: ThreadPoolExecutor) -> None:
    server = Told()
    place = Rendezvous(lambda: server)
    a = place.enter(Signal.KILL)
    watcher = place.enter(None)
    entering = pool.submit(place.enter, Signal.TERM)
    time.sleep(0.3)
    assert not entering.done()
    a.stop()
    other = entering.result(10)
    ending = pool.submit(restarted, other)
    assert waits(ending)
    watcher.stop()
    ending.result(10)
    assert server.done == ["SIGTERM", "again"]


def test_who_waits_for_long_waits_for_no_newcomers(pool: ThreadPoolExecutor, monkeypatch: Any) -> None:
    monkeypatch.setattr(restarting, "OPEN", 0.0)
    server = Told()
    place = Rendezvous(lambda: server)
    slow, ready = place.enter(Signal.KILL), place.enter(Signal.KILL)
    first = pool.submit(restarted, ready)
    time.sleep(0.2)
    late = pool.submit(place.enter, Signal.KILL)
    time.sleep(0.3)
    assert not late.done()
    slow.stop()
    first.result(10)
    assert late.result(10).server is server
    assert server.done == ["SIGKILL", "again"]


def test_what_does_not_start_again_is_dead_for_all_and_the_next_one_is_new(pool: ThreadPoolExecutor) -> None:
    broken = Told(fails=True)
    servers = [Told(), broken]
    place = Rendezvous(servers.pop)
    a, b = place.enter(Signal.KILL), place.enter(Signal.KILL)
    ended = [pool.submit(restarted, guest) for guest in (a, b)]
    for future in ended:
        with pytest.raises(NotStarted, match="it is broken"):
            future.result(10)
    assert a.post_mortem(0) == "it did not start again: it is broken"
    later = place.enter(Signal.KILL)
    assert later.server is not broken
    assert later.post_mortem(0) is None
    place.close()
    assert broken.done[-1] == "stop"


def test_an_interruption_ends_the_waiting(pool: ThreadPoolExecutor) -> None:
    stop = threading.Event()
    place = Rendezvous(Told)
    a, _other = place.enter(Signal.KILL), place.enter(Signal.KILL)

    def interrupted() -> None:
        if stop.is_set():
            raise Interrupted

    waiting = pool.submit(a.end, HERE, interrupted)
    stop.set()
    with pytest.raises(Interrupted):
        waiting.result(10)


def test_a_server_for_each_set_of_settings_and_for_each_signal_where_they_are_cheap() -> None:
    cheap, dear = Shared(lambda _: Told()), Shared(lambda _: Told(), apart=False)
    first = cheap.start({"a": 1}, Signal.KILL)
    assert cheap.start({"a": 1}, Signal.KILL).server is first.server
    assert cheap.start({"a": 2}, Signal.KILL).server is not first.server
    assert cheap.start({"a": 1}, Signal.TERM).server is not first.server
    one = dear.start({}, Signal.KILL)
    assert dear.start({}, None).server is one.server


def test_alone_what_does_not_start_again_is_dead() -> None:
    alone = Alone(Told(fails=True), Signal.KILL)
    assert alone.post_mortem(0) is None
    alone.end(HERE, go_on)
    with pytest.raises(NotStarted):
        alone.start_again()
    assert alone.post_mortem(0) == "it did not start again: it is broken"


def verdict(target: str, *ids: str) -> dict[str, Verdict]:
    with closing(parse_target(target, {"group.initial.rebalance.delay.ms": 300})) as judged:
        playable, _ = divide(select(all_cases(), ids), judged, Options(seed=1))
        return {
            one.case.id: one.verdict for one in play_all(playable, judged, Options(seed=1, patience=3), {})
        }


def test_a_command_is_started_again_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = verdict(f"cmd:{SERVE} --data-dir {{data}}", f"{KEPT}sigkill", f"{KEPT}sigterm")
    assert set(found.values()) == {Verdict.PASS}
    assert len(found) == 2
    assert not list(tmp_path.glob("rota-data-*"))


def test_a_command_that_does_not_use_its_folder_forgets() -> None:
    forgets = f"cmd:sh -c '{SERVE}' {{data}}"
    assert verdict(forgets, f"{KEPT}sigkill") == {f"{KEPT}sigkill": Verdict.FAIL}


def test_a_command_that_does_not_come_back_has_died() -> None:
    once = f"cmd:sh -c 'mkdir {{data}}/once && exec {SERVE}'"
    with closing(parse_target(once)) as target:
        (result,) = play_all(select(all_cases(), [f"{KEPT}sigkill"]), target, Options(seed=1, patience=3), {})
    assert result.ending is Ending.DIED
    assert result.actual.startswith("it did not start again: the process ended with exit code 1")


def test_a_target_may_take_its_time_after_a_restart() -> None:
    """What has to be prompt elsewhere is waited for as long as any answer."""
    waited = []

    def play(d: Dialogue) -> None:
        for cold in (False, True):
            d.cold = cold
            reply = d.member("a").join("", within=0.01)
            waited.append(reply.within)

    case = replace(select(all_cases(), ["heartbeat.alive.stable"])[0], play=play, needs={"JoinGroup": (0, 3)})
    with closing(parse_target("rota")) as target:
        list(play_all([case], target, Options(seed=1, patience=1), {}))
    assert waited == [0.01, 1.3]


class SlowToSpeak(KeptServer):
    """A server behind a listener: what comes there after a restart is taken in, and read after seconds.

    rude: it is closed until then.
    """

    def __init__(self, settings: Mapping[str, int], silence: float, rude: bool = False) -> None:
        super().__init__(settings)
        self._rude = rude
        self._inner, self._silence, self._speaks_at = self.address, silence, 0.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        threading.Thread(target=self._take_in, daemon=True).start()

    def start_again(self) -> None:
        self._speaks_at = time.monotonic() + self._silence
        self._started(self._inner[1])

    def stop(self) -> None:
        self._listener.close()
        super().stop()

    def _take_in(self) -> None:
        with suppress(OSError):
            while True:
                caller = self._listener.accept()[0]
                if self._rude and time.monotonic() < self._speaks_at:
                    caller.close()
                    continue
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        time.sleep(max(self._speaks_at - time.monotonic(), 0.0))
        with suppress(OSError), caller, socket.create_connection(self._inner) as server:
            back = threading.Thread(target=self._pipe, args=(server, caller), daemon=True)
            back.start()
            self._pipe(caller, server)
            back.join()

    @staticmethod
    def _pipe(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("id", [f"{KEPT}sigkill", "hosting.loading.before-it-knows-after-sigkill"])
def test_who_listens_before_it_says_anything_is_waited_for(id: str) -> None:
    """Longer than for any other answer."""
    slow = replace(
        kept_target(), restarting=lambda settings, how: Alone(SlowToSpeak(settings, silence=2.0), how)
    )
    with closing(slow):
        (result,) = play_all(select(all_cases(), [id]), slow, Options(seed=1, patience=0.7), {})
    assert (result.verdict, result.because) == (Verdict.PASS, "")


@pytest.mark.parametrize(("silence", "verdict"), [(0.7, Verdict.PASS), (60.0, Verdict.FAIL)])
def test_who_closes_connections_while_it_starts_has_told_nobody_anything(
    silence: float, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again, as long as it may take to start."""
    monkeypatch.setattr(restart_groups, "BACK_SECONDS", 3.0)
    rude = replace(
        kept_target(),
        restarting=lambda settings, how: Alone(SlowToSpeak(settings, silence, rude=True), how),
    )
    with closing(rude):
        (result,) = play_all(
            select(all_cases(), ["hosting.loading.before-it-knows-after-sigkill"]),
            rude,
            Options(seed=1, patience=0.7),
            {},
        )
    assert result.verdict == verdict


def test_who_comes_to_a_target_that_was_just_started_again_waits_too() -> None:
    server = SlowToSpeak({}, silence=2.0)
    server.end(HERE, Signal.KILL)
    server.start_again()
    late = replace(kept_target(), restarting=lambda settings, how: Alone(server, how))
    with closing(late):
        (result,) = play_all(select(all_cases(), [f"{KEPT}sigkill"]), late, Options(seed=1, patience=0.7), {})
    assert (result.verdict, result.because) == (Verdict.PASS, "")


def test_without_a_folder_restarts_are_not_checked() -> None:
    with closing(parse_target(f"cmd:{SERVE}")) as target:
        playable, skipped = divide(select(all_cases(), [f"{KEPT}sigkill"]), target, Options(seed=1))
    assert playable == []
    assert skipped[0].why == "needs a target that can be restarted with its data"


def test_a_command_cannot_be_restarted_with_other_settings() -> None:
    cases = select(all_cases(), ["loading.over-capacity"])
    with closing(parse_target(f"cmd:{SERVE} --data-dir {{data}}", {"group.max.size": 3})) as target:
        playable, skipped = divide(cases, target, Options(seed=1))
    assert playable == []
    assert {one.why for one in skipped} == {"needs a target that can be restarted with other settings"}


def test_the_guard_ends_in_good_order_and_keeps_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    command = "trap 'touch ended; exit 0' TERM; touch begun; while :; do sleep 0.05; done"
    with subprocess.Popen(guarded(str(folder), [("sh", "-c", command)]), stdin=subprocess.PIPE) as guard:
        while not (folder / "begun").exists():
            time.sleep(0.02)
        guard.send_signal(IN_GOOD_ORDER)
        assert guard.wait(timeout=10) == 0
    assert (folder / "ended").exists()


def test_a_process_that_does_not_end_in_time_is_named() -> None:
    process = Process(
        ["sh", "-c", "trap '' TERM; echo there; while :; do sleep 0.05; done"], stdout=subprocess.PIPE
    )
    try:
        process.first_line(within=10)
        with pytest.raises(NotStarted, match=r"did not end within 0\.2 s of SIGTERM"):
            process.end(signal.SIGTERM, within=0.2)
    finally:
        process.end(signal.SIGKILL, within=10)
        process.stop()
