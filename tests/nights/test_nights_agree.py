"""How the accounts of a night's sources are held beside each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.nights import START, member
from harness.nights import Night as Told
from nights.agreement import (
    EDGE,
    LOG,
    OFFSETS,
    Account,
    Generation,
    Night,
    disagreements,
    handed_out,
    rosters,
)
from nights.agreement import told as account
from rota.history import Kind, Source

A, B, C, HAND = (member(name, number) for number, name in enumerate(("a", "b", "c", "by-hand"), 1))


def log() -> Told:
    """One comes, another, a static one is replaced, the second fails, the first leaves."""
    night = Told().come(0, A, 0, 1, took=0.3, state="Empty").come(10, B, 1, 2)
    night.replace(20, A, C, "till-1")
    night.fail(40, B, 2, 1)
    night.say(60, Kind.LEFT, C).prepare(60, 3, f"explicit `LeaveGroup` request for ({C}) members.")
    return night.say(60.1, Kind.EMPTY, generation=4)


def records() -> Told:
    night = Told(source=Source.OFFSETS)
    stored: tuple[tuple[float, int, list[str]], ...] = (
        (0, 0, []),
        (0.3, 1, [A]),
        (11, 2, [A, B]),
        (20, 2, [B, C]),
        (41, 3, [C]),
        (60.1, 4, []),
    )
    for at, generation, members in stored:
        listed = [{"member": one, "instance": "till-1" if one in (A, C) else ""} for one in members]
        night.say(at, Kind.GROUP_STORED, generation=generation, data={"members": listed})
    return night


def night(**accounts: Account) -> Night:
    both = {LOG: account(log().events), OFFSETS: account(records().events)} | accounts
    return Night(both, rosters(records().events), START + 100)


def test_log_and_records_of_one_night_tell_the_same() -> None:
    found = night()
    assert [sorted(one.generations) for one in found.accounts.values()] == [[1, 2, 3, 4]] * 2
    assert [one.back for one in found.accounts.values()] == [(("till-1", START + 20),)] * 2
    assert disagreements(found) == []


def changed(generation: int, **further: object) -> Account:
    """The records' account with something else in it."""
    right = account(records().events)
    one = replace(right.generations[generation], **further)  # type: ignore[arg-type]
    return replace(right, generations={**right.generations, generation: one})


@pytest.mark.parametrize(
    ("generation", "further", "words"),
    [
        (2, {"members": 3}, "generation 2: 2 members, or 3"),
        (3, {"at": START + 44}, "generation 3: over at"),
        (3, {"went": {B: "it left"}}, f"{B} is gone: its session ran out, or it left"),
        (3, {"went": {}, "came": frozenset({B})}, f"{B} came, or went"),
    ],
)
def test_what_is_told_otherwise_is_found(generation: int, further: dict[str, object], words: str) -> None:
    (found,) = disagreements(night(offsets=changed(generation, **further)))
    assert words in found


def test_a_machine_that_was_late_explains_so_many_seconds_and_no_more() -> None:
    found = night(offsets=changed(3, at=START + 44))
    assert disagreements(replace(found, edge=EDGE + 2.5)) == []
    (words,) = disagreements(replace(found, edge=EDGE + 1.5))
    assert "over at" in words
    gone = night(offsets=changed(3, went={B: "it left"}))
    assert disagreements(replace(gone, edge=60.0)) == disagreements(gone) != []


def test_what_is_passed_over_is_found() -> None:
    right = account(records().events)
    fewer = {number: one for number, one in right.generations.items() if number != 2}
    (found,) = disagreements(night(offsets=replace(right, generations=fewer)))
    assert found == "log and offsets: offsets does not tell of generation 2"
    (found,) = disagreements(night(log=replace(account(log().events), back=())))
    assert "log does not tell that till-1 came back" in found


def test_what_a_source_cannot_have_is_not_asked_of_it() -> None:
    right = account(records().events)
    seen = {number: right.generations[number] for number in (1, 2, 3)}
    nobody = replace(right, generations=seen)
    assert disagreements(night(frames=nobody)) == []  # nobody is told of the fourth, in which nobody is
    blind = replace(right, generations={1: seen[1], 2: seen[2]}, back=())
    assert disagreements(night(clients=blind)) == [
        f"{name} and clients: clients does not tell of generation 3" for name in (LOG, OFFSETS)
    ]
    by_hand = replace(night(clients=blind), rosters={3: frozenset({HAND})})
    assert disagreements(by_hand) == []
    early = replace(night(clients=blind), ended=START + 41.5)
    assert disagreements(early) == []
    fewer = replace(right, generations=blind.generations)
    never_given = replace(night(clients=blind, frames=fewer), handed_out=frozenset({1, 2}))
    assert disagreements(never_given) == []
    given = replace(never_given, handed_out=frozenset({1, 2, 3}))
    assert [words for words in disagreements(given) if "frames does not" in words] == [
        f"{name} and frames: frames does not tell of generation 3" for name in (LOG, OFFSETS)
    ]


@pytest.mark.parametrize(("error", "given"), [(0, {3}), (27, set())])
def test_what_nobody_was_given_is_seen_in_frames(error: int, given: set[int]) -> None:
    """Somebody joins while the third generation's assignments are being stored."""
    frames = Told(source=Source.FRAMES)
    asked = {"connection": 1, "correlation": 7, "api": "SyncGroup", "version": 3}
    frames.say(1, Kind.REQUEST, data=asked | {"fields": {"generation_id": 3}})
    frames.say(2, Kind.RESPONSE, data=asked | {"fields": {"error_code": error}})
    assert handed_out(frames.events) == given


def test_only_a_log_has_what_could_not_be_stored() -> None:
    one = Generation(START + 50, 2, {}, frozenset())
    told = account(log().events)
    more = replace(told, generations={**told.generations, 7: one})
    found = night(log=more)
    assert disagreements(found) == ["log and offsets: offsets does not tell of generation 7"]
    assert disagreements(replace(found, stored=False)) == []
