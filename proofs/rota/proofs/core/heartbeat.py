"""Heartbeat (`rota.spec.classic.heartbeat`): it changes nothing but timers, which may be due at any time
here.
"""

from __future__ import annotations

from rota.proofs.core.logic import Sort, Term, both, either, no
from rota.proofs.core.moves import Args, Effect, move
from rota.proofs.core.signature import State
from rota.proofs.core.words import fenced, resting, unknown, valid

M, INSTANCE, G = Sort.MEMBER, Sort.INSTANCE, Sort.GENERATION


@move("heartbeat.fenced-instance-id", who=M, at=INSTANCE)
def fenced_instance_id(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(resting(s), fenced(s, a.who, a.at)), s


@move("heartbeat.unknown-member", who=M, at=INSTANCE)
def unknown_member(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(resting(s), unknown(s, a.who, a.at)), s


def _too_early(s: State) -> Term:
    return both(s.phase == s.u.COMPLETING, no(s.u.heartbeats_while_completing))


@move("heartbeat.illegal-generation", who=M, at=INSTANCE, of=G)
def illegal_generation(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(resting(s), valid(s, a.who, a.at), no(_too_early(s)), a.of != s.generation), s


def _current(s: State, a: Args) -> Term:
    return both(resting(s), valid(s, a.who, a.at), either(_too_early(s), a.of == s.generation))


@move("heartbeat.rebalance-in-progress", who=M, at=INSTANCE, of=G)
def rebalance_in_progress(s: State, a: Args) -> Effect:
    """Told to join again: nothing changes."""
    return both(_current(s, a), either(_too_early(s), s.phase == s.u.PREPARING)), s


@move("heartbeat.alive", who=M, at=INSTANCE, of=G)
def alive(s: State, a: Args) -> Effect:
    """With a generation all is well."""
    guard = both(_current(s, a), no(_too_early(s)), s.phase != s.u.PREPARING)
    return guard, s.put("answered_alive", a.who, s.generation)
