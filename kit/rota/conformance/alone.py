"""One case by itself, as a command: its script plays it against a target and prints the dialogue."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rota.conformance.dialogues.script import Case
from rota.conformance.dialogues.transcript import render
from rota.conformance.results import CaseResult
from rota.conformance.runner import Options, divide, exit_code, find_unreadable, play_all
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.target import Target, TargetError

OWN = "rota"
"""The target that is judged if none is named, as Kafka is to the letter."""


def judge(case: Case, target: Target) -> CaseResult | str:
    """The verdict on a target, or why the case cannot be played there."""
    options = Options(seed=1, slow=True)
    playable, skipped = divide([case], target, options)
    if not playable:
        return skipped[0].why
    try:
        unreadable = find_unreadable(target, options.patience)
        (result,) = play_all(playable, target, options, unreadable)
    finally:
        target.close()
    return result


def main(case: Case, arguments: Sequence[str]) -> int:
    """Play a case; the exit code is that of `rota conform`, 5 where it cannot be played. arguments: a target
    as for `rota conform`, or none."""
    if len(arguments) > 1:
        print("rota: name one target, or none for rota's own server", file=sys.stderr)
        return 2
    try:
        target = parse_target(arguments[0] if arguments else OWN, profile="kafka-4.x")
    except TargetError as error:
        print(f"rota: {error}", file=sys.stderr)
        return 2 if error.there else 3
    result = judge(case, target)
    if isinstance(result, str):
        print(f"{case.id}: not played, {result}")
        return 5
    print("\n".join(render(result.lines, result.names)))
    for name, told in (("expected", result.expected), ("actual", result.actual), ("because", result.because)):
        if told:
            print(f"{name}: {told}")
    print(f"{result.verdict.value}: {case.id} on {target.name}")
    return exit_code([result])
