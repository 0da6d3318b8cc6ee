"""Follow docs/tutorial-find-a-bug.md from its top: `python tests/docs/tutorial.py [--fresh]`.

Its commands run in order in an empty folder with an empty home. --fresh: with a rota that is installed from
this checkout into a new environment, by its locks. Exit 1 if one does otherwise than the page says, or if the
bug that the page names is not reached.
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from harness.commands import Terminal  # noqa: E402 - tests are no package that is installed
from rota.report.site.blocks import Mark  # noqa: E402

PAGE = ROOT / "docs" / "tutorial-find-a-bug.md"
BUG = "rota-out/trace-join.membership-fixed-in-a-generation.jsonl"


def follow(folder: Path) -> int:
    """Run all that the page has for a reader; how many commands did otherwise."""
    failed = 0
    for one in Terminal(folder).follow(PAGE.read_text(encoding="utf-8"), (Mark.QUICK, Mark.LONG)):
        print(f"{one.seconds:6.2f} s  $ {one.text}", flush=True)
        if one.problem:
            failed += 1
            print(f"          {one.problem}")
    if not (folder / BUG).exists():
        failed += 1
        print(f"          the bug is not reached: there is no {BUG}")
    return failed


def install(folder: Path) -> Path:
    """A new environment with this checkout in it; its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, "--require-hashes", "-r", ROOT / "locks" / "build.txt"], check=True)
    subprocess.run(
        [*pip, "--require-hashes", "-r", ROOT / "locks" / "test.txt", "--no-build-isolation"], check=True
    )
    subprocess.run([*pip, "--no-build-isolation", "--no-deps", ROOT], check=True)
    return python


def main() -> int:
    """Follow the page; the exit code."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--fresh", action="store_true", help="install into a new environment first")
    with TemporaryDirectory() as place:
        begun = monotonic()
        if parser.parse_args().fresh:
            python = install(Path(place) / "environment")
            print(f"{monotonic() - begun:6.2f} s  to install", flush=True)
            return subprocess.run([python, __file__], check=False).returncode
        folder = Path(place) / "empty"
        folder.mkdir()
        failed = follow(folder)
        words = f"{failed} commands did otherwise" if failed else "the bug was found, shown and kept"
        print(f"tutorial: {words}, in {monotonic() - begun:.1f} s")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
