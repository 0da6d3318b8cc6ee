"""A piece of a run of tables whose worker is killed the first time."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from rota.histories.on_spark import answer


def deadly(flag: str, kind: str, plan: str, ceiling: int | None, piece: str) -> str:
    """Like `answer`, but the first worker that judges is killed when it has begun."""
    if kind == "judge":
        try:
            Path(flag).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return answer(kind, plan, ceiling, piece)


def deadly_to_executors(
    flag: str, spared: int, kind: str, asked: str, plan: str, ceiling: int | None, piece: str
) -> str:
    """Like `answer`, but the executor of the first worker that does work of this kind is killed before it,
    unless that is process `spared`."""
    if asked == kind:
        try:
            Path(flag).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            executor = _parent(_parent(os.getpid()))  # of the process from which workers are forked
            assert executor not in (1, spared)
            os.kill(executor, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
    return answer(asked, plan, ceiling, piece)


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
