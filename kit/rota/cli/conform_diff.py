"""`rota conform --diff A B`: play the same dialogues on two targets and show where they differ."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import click

from rota.cli.conform_run import interruptible
from rota.cli.conform_target import see_what_is_there
from rota.cli.errors import NOTHING, UsageError
from rota.cli.keeping import keep, try_files
from rota.cli.streams import ascii_json
from rota.conformance.comparison.compare import CutShort, DialogueComparison, compare
from rota.conformance.dialogues.script import Script
from rota.conformance.results import NotChecked
from rota.conformance.runner import Options, divide
from rota.conformance.targets.target import Target
from rota.report.difference import Comparison, as_json, as_text, side_by_side, verdict_line
from rota.report.events import INTERRUPTED
from rota.report.format import counted
from rota.report.live_line import LiveLine
from rota.report.progress import Progress


def show_differences(
    scripts: Sequence[Script],
    targets: tuple[Target, Target],
    options: Options,
    given: Sequence[str],
    out: Path,
    as_object: bool,
    quiet: bool,
) -> int:
    """Compare, print, and write the dialogues side by side into the folder; the exit code.

    given: the options without which a dialogue would not be played as it was, word by word.
    """
    stem = re.sub(r"[^A-Za-z0-9.]+", "-", f"{targets[0].name}-{targets[1].name}").strip("-")[:120]
    path = out / f"diff-{stem}.txt"
    try_files([path])
    began = time.monotonic()
    live = LiveLine(sys.stderr, silent=quiet)
    with ExitStack() as stack:
        for target in targets:
            stack.enter_context(closing(target))
        left, right = (see_what_is_there(target, options.patience) for target in targets)
        scripts, skipped = divide(scripts, left, options)
        scripts, more = divide(scripts, right, options)
        not_checked = [*skipped, *more]
        if not scripts:
            raise UsageError(f"nothing to play: {not_checked[0].case.id} {not_checked[0].why}", NOTHING)
        if not (quiet or as_object):
            what = counted(len(scripts), "dialogue")
            click.echo(f"rota conform --diff: {left.name} and {right.name}, {what}, seed {options.seed}")
        compared, interrupted = _compared(scripts, left, right, options, live)
    live.clear()
    seconds = time.monotonic() - began
    there = {one.script.id for one in compared}
    not_checked += [NotChecked(script, INTERRUPTED) for script in scripts if script.id not in there]
    names = (left.name, right.name)
    result = Comparison(*names, options.seed, compared, not_checked, seconds, interrupted, given)
    files = [path] if result.exit_code else []
    if as_object:
        click.echo(ascii_json(as_json(result, files)), nl=False)
    elif quiet:
        click.echo(verdict_line(result))
    else:
        for line in as_text(result, files):
            click.echo(line)
    text = "".join(f"{line}\n" for line in side_by_side(result))
    return keep(dict.fromkeys(files, text), result.exit_code)


def _compared(
    scripts: Sequence[Script], left: Target, right: Target, options: Options, live: LiveLine
) -> tuple[list[DialogueComparison], bool]:
    """What is known of the dialogues, and whether somebody interrupted before that was all."""

    began = time.monotonic()

    def progress(done: int, of: int) -> None:
        live.show(lambda: Progress("conform --diff", done, of, "plays", time.monotonic() - began).line())

    with interruptible(options.stop):
        try:
            return compare(scripts, left, right, options, progress), False
        except CutShort as cut:
            return cut.compared, True
