"""Failures of walks as files, from which they are played again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rota.generate.plan import Plan, read_plan
from rota.generate.run import Failure
from rota.generate.told import dialogue

SCHEMA = 1
FOLDER = "walks"


class NotSaved(Exception):
    """No failure can be read; the message says why."""


@dataclass(frozen=True)
class Saved:
    """A failure from a file: the plan, the settings and the profile that it was drawn for, and its cause."""

    plan: Plan
    settings: Mapping[str, int]
    rule: str
    cause: tuple[str, ...]
    why: str = ""
    profile: str = ""


def case_path_of(folder: Path, plan_id: str) -> Path:
    """Where a failure is written as a case."""
    return folder / FOLDER / f"walk_{plan_id.replace('-', '_')}.py"


def path_of(folder: Path, plan_id: str) -> Path:
    """Where a failure is kept."""
    return folder / FOLDER / f"{plan_id}.json"


def failure_object(failure: Failure) -> dict[str, Any]:
    """A failure as reports have it."""
    walked = failure.walked
    return {
        "id": walked.id,
        "rule": walked.rule,
        "runs": failure.told_runs,
        "why": walked.why,
        "nearest": list(walked.nearest),
        "cause": list(walked.cause),
        "suspects": [one.as_json() for one in walked.suspects],
        "met": list(failure.met),
        "dialogue": dialogue(walked.played.messages, walked.played.history.group_id),
    }


def saved_text(failure: Failure, target: str, profile: str, settings: Mapping[str, int]) -> str:
    """A failure as its file has it."""
    whole = {
        "schema": SCHEMA,
        "target": target,
        "profile": profile,
        "settings": dict(settings),
        **failure_object(failure),
        "plan": failure.walked.played.plan.as_json(),
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def read_saved(folder: Path, name: str) -> Saved:
    """The failure of an id, or in the file of that name. Errors: NotSaved."""
    path = Path(name) if name.endswith(".json") else path_of(folder, name)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        settings = {str(key): int(value) for key, value in found["settings"].items()}
        return Saved(
            read_plan(found["plan"]),
            settings,
            found["rule"],
            tuple(found["cause"]),
            found["why"],
            found["profile"],
        )
    except FileNotFoundError:
        there = sorted(each.stem for each in (folder / FOLDER).glob("*.json"))
        told = f"there are {', '.join(there)}" if there else "a run of --generate that fails keeps some"
        raise NotSaved(f"there is no {path}; {told}") from None
    except OSError as error:
        raise NotSaved(f"cannot read {path}: {error.strerror}; name another file") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotSaved(
            f"{path} is no failure of a walk: {error!r}; name one that --generate has kept"
        ) from error
