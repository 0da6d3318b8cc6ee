"""Mistakes in the administration that a group's members suffer from."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.mutant import bug
from rota.spec import Call, Group, Spec
from rota.spec import admin as admin_rules
from rota.spec.classic.step import Steps


@bug("admin.delete-non-empty-group", dies_in="raw-offsets", by="timers.match-state")
def members_lose_their_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A group is deleted though it has members."""
    return ()


@bug("admin.delete", dies_in="raw-offsets", by="timers.match-state")
def handed_out_ids_stay(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A group that is deleted keeps the ids that it has handed out."""
    steps = admin_rules.delete(spec, group, call)
    kept = Group(pending=group.pending) if group is not None else None
    return tuple(replace(step, group=kept) for step in steps)
