"""A plan that looks for a state in place of judging."""

from __future__ import annotations

from dataclasses import replace

from rota.cli.errors import UsageError
from rota.kernel import System
from rota.report.check_model import Job, Plan
from rota.trace import ExpressionError, reaching


def searching(plan: Plan, expression: str) -> Plan:
    """The plan, its systems with no other property than that no state is as the expression says.

    Configurations of which the expression cannot speak, such as those with fewer clients, are left out, and
    named. Errors: UsageError for what none of them can be asked.
    """
    jobs, silent, cause = [], [], ""
    for job in plan.jobs:
        try:
            jobs.append(_asked(job, reaching(job.build(), expression)))
        except ExpressionError as error:
            silent.append(job.name)
            cause = cause or str(error)
    if not jobs:
        raise UsageError(f"--reach {cause}")
    omitted = list(plan.omitted)
    if silent:
        omitted.append(f"configurations that the expression cannot speak of ({', '.join(silent)})")
    return replace(plan, jobs=tuple(jobs), reach=expression, omitted=tuple(omitted))


def _asked(job: Job, system: System) -> Job:
    # what is pinned stays so: where there is no such state, all are visited and counted as ever
    return replace(job, build=lambda: system)
