"""`rota prove`: the Z3 obligations, one line each, with counterexamples in names."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rota.cli.errors import HOLDS, NOTHING, UNDECIDED, VIOLATED, UsageError

if TYPE_CHECKING:  # Z3 is an extra, and slow to import: `rota --help` does without it
    from rota.proofs import Obligation, Outcome

EXIT_CODES = {"holds": HOLDS, "violated": VIOLATED, "undecided": UNDECIDED}

NOT_PROVED = "not proved: join, sync, heartbeat, leave, timers, and that a coordinator follows these formulas"


def verdict_of(outcomes: list[Outcome], selected: int) -> str:
    """holds if all selected ones came out as expected, violated if one is proved or refuted against that."""
    if any(not outcome.as_expected and outcome.verdict != "unknown" for outcome in outcomes):
        return "violated"
    if len(outcomes) < selected or any(outcome.verdict == "unknown" for outcome in outcomes):
        return "undecided"
    return "holds"


def report_of(outcomes: list[Outcome], verdict: str) -> dict[str, Any]:
    """The machine-readable report."""
    return {
        "schema": 1,
        "verdict": verdict,
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        "obligations": [
            {
                "name": outcome.obligation.name,
                "statement": outcome.obligation.statement,
                "expect": outcome.obligation.expect,
                "verdict": outcome.verdict,
                "seconds": round(outcome.seconds, 3),
                "reason": outcome.reason,
                "counterexample": outcome.counterexample and outcome.counterexample.as_json(),
            }
            for outcome in outcomes
        ],
    }


def _print_outcome(outcome: Outcome) -> None:
    mark = "ok" if outcome.as_expected else "NOT"
    name, expect = outcome.obligation.name, outcome.obligation.expect
    click.echo(f"{mark:<3} {name:<29} expected {expect:<7}  {outcome.verdict:<7} {outcome.seconds:6.2f} s")
    if not outcome.as_expected or outcome.counterexample:
        click.echo(f"      claim: {outcome.obligation.statement}")
    if outcome.reason:
        click.echo(f"      why: {outcome.reason}")
    for line in outcome.counterexample.as_lines() if outcome.counterexample else ():
        click.echo(f"      {line}")


def _print_verdict(outcomes: list[Outcome], verdict: str, report: Path) -> None:
    counts = Counter(outcome.verdict for outcome in outcomes)
    told = ", ".join(f"{counts[name]} {name}" for name in ("proved", "refuted", "unknown") if counts[name])
    agreeing = sum(outcome.as_expected for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    click.echo(NOT_PROVED)
    click.echo(f"report: {report}")
    click.echo(f"{verdict}: {told}; {agreeing} of {len(outcomes)} as expected, in {seconds:.1f} s")


def _write_smt2(obligations: tuple[Obligation, ...], directory: Path) -> None:
    from rota.proofs import smt2

    directory.mkdir(parents=True, exist_ok=True)
    for obligation in obligations:
        (directory / f"{obligation.name}.smt2").write_text(smt2(obligation), encoding="utf-8")


def _select(names: tuple[str, ...]) -> tuple[Obligation, ...]:
    from rota.proofs import UnknownObligation, select

    try:
        return select(names)
    except UnknownObligation as error:
        message = f"no obligation is named {error} or lies under it; `rota prove --list` names them all"
        raise UsageError(message, NOTHING) from None


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--list", "only_list", is_flag=True, help="Name the obligations and what they say; run none.")
@click.option("--smt2", type=click.Path(file_okay=False, path_type=Path), help="Write the formulas there.")
@click.option("--timeout", type=click.FloatRange(0.1), default=60.0, show_default=True, metavar="SECONDS",
              help="For each question to Z3.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("rota-out"),
              show_default=True, help="Where the report goes.")  # fmt: skip
@click.pass_context
def prove(
    ctx: click.Context,
    names: tuple[str, ...],
    as_json: bool,
    only_list: bool,
    smt2: Path | None,
    timeout: float,
    out: Path,
) -> None:
    """Prove what holds for any number of members, and refute what must not hold.

    NAME selects an obligation, or all under it: `rota prove voting`, `rota prove voting.counters`.

    Exit 0 if all are as expected, 1 if not, 3 if Z3 gave up on one, 5 if NAME selects nothing.
    """
    obligations = _select(names)
    if smt2 is not None:
        _write_smt2(obligations, smt2)
    if only_list:
        for obligation in obligations:
            click.echo(f"{obligation.name:<29} {obligation.expect:<7}  {obligation.statement}")
        return
    out.mkdir(parents=True, exist_ok=True)
    report = out / "prove.json"
    outcomes: list[Outcome] = []
    try:
        _run(obligations, timeout, outcomes, as_json)
    finally:  # an interrupt keeps what was decided until then
        verdict = verdict_of(outcomes, len(obligations))
        text = json.dumps(report_of(outcomes, verdict), indent=2)
        report.write_text(text + "\n", encoding="utf-8")
    if as_json:
        click.echo(text)
    else:
        _print_verdict(outcomes, verdict, report)
    ctx.exit(EXIT_CODES[verdict])


def _run(obligations: tuple[Obligation, ...], timeout: float, outcomes: list[Outcome], quiet: bool) -> None:
    from rota.proofs import Asking
    from rota.proofs import prove as decide

    for obligation in obligations:
        outcomes.append(decide(obligation, Asking(timeout)))
        if not quiet:
            _print_outcome(outcomes[-1])
