"""Cases played for pytest: ahead of their tests, as many at a time as the target bears."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType

import pytest

from rota.cli.conform_target import one_target, see_what_is_there
from rota.cli.errors import UsageError
from rota.conformance.catalogue import cases_by_name
from rota.conformance.dialogues.script import Case
from rota.conformance.known_failures import read_known
from rota.conformance.profiles import for_profile, usual_profile
from rota.conformance.results import CaseResult, KnownFailure, Verdict
from rota.conformance.rounds import Gone
from rota.conformance.runner import Options, divide, find_unreadable, play_all
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import Target, TargetError
from rota.conformance.unserved import without_unserved
from rota.report.events import RunStarted
from rota.report.text import in_full

SEED = 1
"""Cases are told apart by their names; a target that is shared sees new groups in each run all the same."""


class CaseDeviates(Exception):
    """The target does not do what a case requires; the text has the dialogue."""


class KnownDeviation(CaseDeviates):
    """As a list of known failures says."""


class Judge:
    """Plays cases on a target from when it is entered, in threads; each test waits for its own.

    cases: what is going to be asked for; others are played when they are. Errors: pytest fails with the cause
    where there is no target.
    """

    def __init__(self, target: str, config: pytest.Config, cases: Sequence[Case]) -> None:
        self._target = target_of(target, config)
        self._profile = profile_of(config) or usual_profile(self._target.name)
        self._options = Options(SEED, slow=True, known=known_of(config))
        self._given = [word for setting in settings_of(config) for word in ("--set", setting)]
        self._cases = {case.id: case for case in cases}
        self._results: dict[str, Future[CaseResult]] = {}
        self._why_not: dict[str, str] = {}
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Judge:
        try:
            self._target = see_what_is_there(self._target, self._options.patience)
        except UsageError as error:
            self._target.close()
            pytest.fail(f"rota: {error.message}", pytrace=False)
        self._unreadable = find_unreadable(self._target, self._options.patience)
        self._play(list(self._cases.values()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._options.stop.set()
        for thread in self._threads:
            thread.join()
        self._target.close()

    def judge(self, case: Case) -> None:
        """Raises CaseDeviates, or skips the test, unless the target does what the case requires."""
        if case.id not in self._results and case.id not in self._why_not:
            self._play([case])
        if case.id in self._why_not:
            pytest.skip(self._why_not[case.id])
        try:
            result = self._results[case.id].result()
        except Gone as gone:
            pytest.fail(f"rota: {gone}", pytrace=False)
        if result.verdict in (Verdict.UNSUPPORTED, Verdict.UNDECIDED, Verdict.SKIPPED):
            pytest.skip(f"{result.verdict}: {result.because or result.actual}")
        told = "\n".join(in_full(result, self._started()))
        if result.verdict is Verdict.KNOWN:
            raise KnownDeviation(told)
        if result.verdict in (Verdict.FAIL, Verdict.DIED):
            raise CaseDeviates(told)
        if result.verdict is not Verdict.PASS:
            print(told)

    def _started(self) -> RunStarted:
        return RunStarted(self._target.name, self._profile, SEED, len(self._results), given=self._given)

    def _play(self, cases: list[Case]) -> None:
        expected, unknown = for_profile(cases, self._profile)
        playable, skipped = divide(expected, self._target, self._options)
        playable, unserved = without_unserved(playable, self._target, self._options.patience)
        self._why_not |= {each.case.id: each.why for each in (*unknown, *skipped, *unserved)}
        self._results |= {case.id: Future() for case in playable}
        self._threads.append(threading.Thread(target=self._play_all, args=(playable,), name="rota-cases"))
        self._threads[-1].start()

    def _play_all(self, cases: list[Case]) -> None:
        """Every case that was begun has a result in the end, or what kept it from one."""
        why: BaseException = RuntimeError("the run was ended before this case was over")
        try:
            for result in play_all(cases, self._target, self._options, self._unreadable):
                self._results[result.case.id].set_result(result)
        except BaseException as error:
            why = error if isinstance(error, Exception) else why
        for case in cases:
            if not self._results[case.id].done():
                self._results[case.id].set_exception(why)


@contextmanager
def started(text: str, config: pytest.Config) -> Iterator[str]:
    """HOST:PORT of a target that is started, where it has to be, and ended."""
    with closing(target_of(text, config)) as target:
        try:
            running = target.start({})
        except NotStarted as error:
            pytest.fail(f"rota: target {target.name} does not start: {error}", pytrace=False)
        try:
            yield f"{running.address[0]}:{running.address[1]}"
        finally:
            running.stop()


def target_of(text: str, config: pytest.Config) -> Target:
    """The target that a text names; fails with the cause where it names none."""
    try:
        return one_target(text, False, settings_of(config), profile=profile_of(config))
    except (UsageError, TargetError) as error:
        pytest.fail(f"rota: {error}", pytrace=False)


def settings_of(config: pytest.Config) -> list[str]:
    """What a broker at HOST:PORT is said to run with, each as KEY=VALUE."""
    return list(config.getoption("rota_set") or config.getini("rota_set"))


def profile_of(config: pytest.Config) -> str | None:
    """The profile that was asked for."""
    return config.getoption("rota_profile") or config.getini("rota_profile") or None


def known_of(config: pytest.Config) -> dict[str, KnownFailure]:
    """What is known to fail, by case. Errors: KnownError."""
    names = cases_by_name()
    files = [Path(name) for name in config.getoption("rota_known") or config.getini("rota_known")]
    return {name: known for file in files for name, known in read_known(file, names).items()}
