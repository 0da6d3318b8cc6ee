"""The counterexamples about the vote, re-checked in plain Python, and how they read."""

from __future__ import annotations

import pytest

from rota.proofs import Obligation, prove, select

REFUTED = [obligation for obligation in select(["voting"]) if obligation.expect == "refuted"]


def named(obligation: Obligation) -> str:
    return obligation.name


@pytest.mark.parametrize("obligation", REFUTED, ids=named)
def test_counterexamples_hold_in_plain_python(obligation: Obligation) -> None:
    example = prove(obligation).counterexample
    assert example is not None
    lists = dict(example.lists)
    assert set(lists) == {"alice", "bob"}
    for member, ballot in example.ballots:
        assert ballot == next(p for p in lists[member] if p in example.candidates)
    cast = [ballot for _, ballot in example.ballots]
    assert {protocol: count for protocol, count in example.votes if count} == {
        protocol: cast.count(protocol) for protocol in cast
    }
    assert cast.count(example.winner) == max(cast.count(protocol) for protocol in cast)
    assert set(example.opposed) == {
        member for member, listed in lists.items() if example.winner not in listed
    }
    candidates = {
        "voting.union": set().union(*lists.values()),
        "voting.winner-is-unique": set.intersection(*map(set, lists.values())),
        "voting.counters.by-entry": {
            p for p in ("range", "roundrobin") if sum(listed.count(p) for listed in lists.values()) == 2
        },
    }
    assert set(example.candidates) == candidates[obligation.name]
    if obligation.name == "voting.winner-is-unique":
        assert cast.count("range") == cast.count("roundrobin") == 1
    else:
        assert example.opposed


@pytest.mark.parametrize(
    ("name", "entries"),
    [("voting.union", 2), ("voting.winner-is-unique", 4), ("voting.counters.by-entry", 4)],
)
def test_counterexamples_are_the_shortest(name: str, entries: int) -> None:
    example = prove(select([name])[0]).counterexample
    assert example is not None
    assert sum(len(listed) for _, listed in example.lists) == entries


def test_a_counterexample_reads_in_names() -> None:
    example = prove(select(["voting.counters.by-entry"])[0]).counterexample
    assert example is not None
    text = list(example.as_lines())
    assert len(text) == 5
    assert text[0] == "candidates: range, roundrobin"
    assert text[-1].endswith(f"may win, which {example.opposed[0]} does not support")
