"""What a command of rota costs as a whole process."""

from __future__ import annotations

import os
import subprocess
import sys


def cost(*arguments: str) -> tuple[float, int, str]:
    """Seconds of processor, the most memory in MiB, and the last line that `rota ARGUMENTS` prints."""
    command = [sys.executable, "-m", "rota", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read().splitlines()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, said
    return used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, said[-1]
