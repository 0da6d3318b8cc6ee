"""Runs a process and watches all that it starts: seconds of cores, memory, files; ends it after a limit."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.5
"""Seconds between two looks at the clocks of processes."""

SELDOM = 4
"""Looks between two at memory and files, which cost more."""

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Watched:
    """What was seen. cores: (time, seconds of cores used by all until then); peaks in bytes.

    pss: proportional share of memory, pages of mapped files included; anonymous: of it what no file backs,
    so what must be there; java: of pss, Java's processes; files: in the folder; taken: less free space.
    """

    exit: int | None = None
    ended: str = ""
    cores: list[tuple[float, float]] = field(default_factory=list)
    pss: int = 0
    anonymous: int = 0
    java: int = 0
    files: int = 0
    taken: int = 0
    processes: int = 0

    def core_seconds(self, begin: float, end: float) -> float:
        """Between two times of the clock, to the accuracy of the looks."""
        return self._until(end) - self._until(begin)

    def _until(self, when: float) -> float:
        before, after = (0.0, 0.0), (0.0, 0.0)
        for point in self.cores:
            before, after = after, point
            if after[0] >= when:
                break
        if after[0] <= when or after[0] == before[0] or not before[0]:
            return after[1]
        return before[1] + (after[1] - before[1]) * (when - before[0]) / (after[0] - before[0])


def run(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, said: Path, limit: float
) -> Watched:
    """Run a command in a session of its own and watch it.

    Parameters: folder, where it writes; said, files for what it prints, `.out` and `.err` put behind; limit,
    seconds after which all of its processes are ended.
    """
    seen, free = Watched(), shutil.disk_usage(folder).free
    with said.with_suffix(".out").open("wb") as out, said.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            command, env=dict(environment), stdout=out, stderr=err, start_new_session=True
        )
        end, used, looks = time.monotonic() + limit, dict[int, float](), 0
        try:
            while process.poll() is None:
                if time.monotonic() > end:
                    seen.ended = f"not done in {limit:g} s"
                    break
                pids = _session(process.pid, used)
                seen.cores.append((time.time(), sum(used.values())))
                if looks % SELDOM == 0:
                    _memory(pids, seen)
                    seen.files = max(seen.files, _size(folder))
                    seen.taken = max(seen.taken, free - shutil.disk_usage(folder).free)
                looks += 1
                time.sleep(EVERY)
        finally:
            _end(process)
    seen.exit = process.returncode
    return seen


def _session(leader: int, used: dict[int, float]) -> list[int]:
    """The processes of a session; what each has used of cores is brought up to date."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with suppress(OSError, IndexError, ValueError):
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry))
                used[int(entry)] = (int(fields[11]) + int(fields[12])) / TICKS
    return found


def _memory(pids: Sequence[int], seen: Watched) -> None:
    total = {"Pss": 0, "Pss_Anon": 0, "java": 0}
    for pid in pids:
        with suppress(OSError, ValueError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
            sizes = {
                name: int(rest.split()[0]) << 10 for name, _, rest in (one.partition(":") for one in lines)
            }
            total["Pss"] += sizes["Pss"]
            total["Pss_Anon"] += sizes["Pss_Anon"]
            if Path(f"/proc/{pid}/comm").read_text().strip() == "java":
                total["java"] += sizes["Pss"]
    seen.pss, seen.anonymous = max(seen.pss, total["Pss"]), max(seen.anonymous, total["Pss_Anon"])
    seen.java, seen.processes = max(seen.java, total["java"]), max(seen.processes, len(pids))


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(place, name), follow_symlinks=False).st_size
    return total


def _end(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of the session."""
    for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        until = time.monotonic() + patience
        while left := _session(process.pid, {}):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            process.poll()
            if time.monotonic() > until:
                break
            time.sleep(0.1)
    process.wait()
