"""The file of a trace, and the run in it."""

from __future__ import annotations

from pathlib import Path

from rota.cli.check_system import use_current_directory
from rota.cli.errors import UsageError
from rota.kernel import System
from rota.trace import Run, Trace, TraceFileError, UntrustedFactory, read, rebuild
from rota.trace import replay as follow

REMEDY = "let `rota check` write it again"


def load(path: Path) -> Trace:
    """Read a trace file. Errors: UsageError with the line and the cause."""
    try:
        return read(content(path, "trace", REMEDY))
    except TraceFileError as error:
        raise UsageError(f"{path} line {error.line}: {error.cause}; {REMEDY}") from None


def content(path: Path, what: str, remedy: str) -> str:
    """What is in a file. what: it should be. Errors: UsageError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; give the path of a {what} file") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is no UTF-8, so this is no {what}; {remedy}") from None


def built(trace: Trace, trusted: str | None) -> System:
    """The system of a trace. trusted: MODULE:NAME outside of rota that may run. Errors: UsageError."""
    if trusted is not None:
        use_current_directory()
    try:
        return rebuild(trace, trusted={trusted} if trusted else ())
    except UntrustedFactory as error:
        raise UsageError(f"{error}; allow that with --system {error.factory}") from None
    except Exception as error:  # whatever the factory, or the settings in the file, make of it
        cause = f"{type(error).__name__}: {error}"
        raise UsageError(f"cannot build the system of this trace ({cause}); {REMEDY}") from error


def reproduce(trace: Trace, trusted: str | None) -> Run:
    """Replay. Errors: ReplayError; UsageError where the system cannot be built."""
    return follow(trace, built(trace, trusted))
