"""What CI prints last: how many tests passed, failed and were skipped, whatever became of its parts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MIXED = """<testsuites><testsuite><testcase name="a"/><testcase name="b"><failure/></testcase>
<testcase name="c"><error/><skipped/></testcase><testcase name="d"><skipped/></testcase><testcase name="e">
<system-out/></testcase></testsuite></testsuites>"""
FINE = '<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>'

MAKE = """#!/bin/sh
case $1 in
ready) exit $(cat ready-exit) ;;
test)
  for report in $(python3 tests/parts.py --reports rota-out); do cp fine.xml $report; done
  if test "$2" = BROWSER=1 -a -f browser.xml; then cp browser.xml rota-out/tests-browser.xml; fi
  if test -f alone.xml; then cp alone.xml rota-out/tests-alone.xml; fi
  exit $(cat tests-exit) ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in which CI runs, and a make that only says what it is told to."""
    for name in (".ci/run", "tests/alone.py", "tests/failed.py", "tests/parts.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    plant(tmp_path, "bin/make", MAKE)
    plant(tmp_path, "tests/browser/chromium.sh", "#!/bin/sh\nexit 0\n")
    plant(tmp_path, "fine.xml", FINE)
    plant(tmp_path, "browser.xml", FINE)
    plant(tmp_path, "ready-exit", "0")
    plant(tmp_path, "tests-exit", "0")
    return tmp_path


def plant(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    (root / name).chmod(0o755)


def ci(checkout: Path) -> tuple[int, list[str]]:
    """The exit code and the lines of a run of CI."""
    path = f"{checkout / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", ".ci/run"], cwd=checkout, env={"PATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()


def test_the_last_line_counts_all_parts(checkout: Path) -> None:
    code, lines = ci(checkout)
    assert (code, lines[-1]) == (0, "11 passed, 0 failed, 0 skipped")


def test_failures_of_any_part_count(checkout: Path) -> None:
    plant(checkout, "browser.xml", MIXED)
    assert ci(checkout) == (1, ["", "12 passed, 2 failed, 1 skipped"])


def test_what_passed_only_alone_is_told(checkout: Path) -> None:
    plant(checkout, "browser.xml", MIXED)
    plant(
        checkout,
        "alone.xml",
        '<testsuites><testcase name="c"/><testcase name="b"><failure/></testcase></testsuites>',
    )
    assert ci(checkout) == (1, ["", "13 passed (1 of them only alone), 1 failed, 1 skipped"])


@pytest.mark.parametrize("part", ["ready-exit", "tests-exit"])
def test_a_part_that_ends_otherwise_fails_it(checkout: Path, part: str) -> None:
    plant(checkout, part, "2")
    code, lines = ci(checkout)
    assert (code, lines[-1]) == (1, "11 passed, 0 failed, 0 skipped")


def test_a_part_that_leaves_no_report_is_a_failure(checkout: Path) -> None:
    (checkout / "browser.xml").unlink()
    code, lines = ci(checkout)
    assert (code, lines[-1]) == (1, "10 passed, 1 failed, 0 skipped")
    assert "rota-out/tests-browser.xml: not written, counted as a failure" in lines


def test_without_a_browser_it_says_what_was_skipped(checkout: Path) -> None:
    plant(checkout, "tests/browser/chromium.sh", "#!/bin/sh\necho no chromium here >&2\nexit 1\n")
    code, lines = ci(checkout)
    assert (code, lines[-1]) == (0, "10 passed, 0 failed, 0 skipped")
    assert lines[0] == "no chromium here"
    assert "tests/browser is skipped" in lines[1]
