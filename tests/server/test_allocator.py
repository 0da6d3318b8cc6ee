"""Memory that was used for large answers is the system's again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

MIB = 1 << 20

KEEPS = """
import resource, sys
from rota.server.allocator import give_back_large

def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()

if {told}:
    assert give_back_large()
del (whole := {{"once": bytearray(20 << 20)}})["once"]
before = resident()
blocks, pins = [], []
for _ in range(64):
    blocks.append(bytearray(512 << 10))
    pins.append(bytearray(2000))
blocks.clear()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is about glibc")
@pytest.mark.parametrize(("told", "kept"), [(True, False), (False, True)])
def test_large_blocks_go_back(told: bool, kept: bool) -> None:
    """Untold, glibc keeps them: so this can be seen here."""
    run = subprocess.run(
        [sys.executable, "-c", KEEPS.format(told=told)], capture_output=True, text=True, check=True
    )
    assert (int(run.stdout) > 16 * MIB) is kept
