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
