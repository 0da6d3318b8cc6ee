"""A search that begins with what earlier runs have learned, and keeps what it has learned itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rota.explore.cache.store import NotKept, Store
from rota.explore.collecting import rarely_collected
from rota.explore.result import DEADLOCK, Limits, Result, Violation
from rota.explore.tables.kept import KeptError
from rota.explore.tables.rejudge import entries_again
from rota.explore.tables.system import Tables, matching
from rota.kernel import Kind, System

Search = Callable[[Tables], Result]


def searched(system: System, limits: Limits, tables: Tables | None, search: Search) -> Result:
    """Search by the tables given, else by those that are kept where `limits` says so, else by new ones.

    The result's statistics say under `cache` what came from it: entries learned and those from the cache,
    and notes, why it was not used. Errors: those of the search, and ValueError for tables of another system.
    """
    with rarely_collected():
        if tables is not None or limits.cache is None or limits.checkpoint is not None:
            return _told(search, matching(system, tables))
        try:
            store = Store(limits.cache, system, limits.symmetry)
        except NotKept as why:
            fresh = Tables(system)
            return _with_cache(_told(search, fresh), fresh, 0, str(why))
        return _kept(system, store, search)


def _kept(system: System, store: Store, search: Search) -> Result:
    notes = []
    try:
        kept = store.load()
    except NotKept as why:
        kept = None
        notes.append(f"{why}; learned anew")
    tables = kept or Tables(system)
    known = tables.learned.known
    try:
        if kept is not None:
            entries_again(kept.judge)
        result = _told(search, tables)
        if kept is not None and not really(system, result.violation):
            raise KeptError("a violation is none")
    except Exception as error:  # wrong tables may lead anywhere; a mistake of the system's comes again
        if kept is None:
            raise
        notes.append(f"kept tables were wrong ({type(error).__name__}: {error}); learned anew")
        store.forget()
        tables, known = Tables(system), (0, 0)
        result = _told(search, tables)
    if tables.learned.known != known:
        try:
            store.save(tables)
        except NotKept as why:
            notes.append(str(why))
    return _with_cache(result, tables, known[0], *notes)


def _told(search: Search, tables: Tables) -> Result:
    """What a search answers. Errors: its own; Impure before them, for it may lead a search anywhere."""
    try:
        return search(tables)
    except Exception:
        tables.learned.again.ask()
        raise


def really(system: System, violation: Violation | None) -> bool:
    """Whether a counterexample is one by the system's own word, which no table has a part in."""
    if violation is None:
        return True
    states = [violation.start, *(transition.target for transition in violation.path)]
    last = states[-1]
    if violation.name == DEADLOCK:
        ends = system.select(Kind.TERMINAL)
        stuck = all(transition.target == last for transition in system.successors(last))
        return stuck and not all(system.holds(prop, last) for prop in ends)
    prop = next(prop for prop in system.properties if prop.name == violation.name)
    if prop.kind is Kind.STEP:
        return not system.step_holds(prop, states[-2], last)
    return not system.holds(prop, last)


def _with_cache(result: Result, tables: Tables, known: int, *notes: str) -> Result:
    counts = {"entries_learned": tables.learned.known[0] - known, "entries_from_cache": known}
    reported = {**counts, "notes": "; ".join(notes)} if notes else counts
    return replace(result, stats={**result.stats, "cache": reported})
