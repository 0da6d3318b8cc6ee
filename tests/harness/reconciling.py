"""Reconciliation: every question of a small world, as the spec asks it and as text for Kafka's own class."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from rota.conformance.targets.java import find_java
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.spec.consumer import Holding, Member, MemberState, Partition, Question, Target

SOURCE = Path(__file__).with_name("Reconciler.java")
RELEASE = RELEASES["kafka-4.4.0"]

PARTITIONS = (Partition("t", 0), Partition("t", 1), Partition("u", 0))
EPOCHS = {one: 2 + number for number, one in enumerate(PARTITIONS)}
"""Since which target a partition is held: each since another, so that none is taken for another's."""

EPOCH, PREVIOUS = 5, 3
NOBODY, ASSIGNED, PENDING, OTHER = range(4)
KAFKAS = {
    MemberState.STABLE: "STABLE",
    MemberState.UNREVOKED_PARTITIONS: "UNREVOKED_PARTITIONS",
    MemberState.UNRELEASED_PARTITIONS: "UNRELEASED_PARTITIONS",
}


def questions() -> Iterator[Question]:
    """All: each partition nobody's, assigned, pending or another's; in the target or not; said to be owned or
    not, or nothing said; each state, epoch, subscription, changed or not. To some of them no group can come.
    """
    owners = tuple(product((NOBODY, ASSIGNED, PENDING, OTHER), repeat=3))
    sets = tuple(frozenset(some) for some in product(*((None, one) for one in PARTITIONS)))
    subsets = [some - {None} for some in sets]
    topics = [frozenset(some) for some in ("tu", "t", "u", "")]
    for state, changed, target, names in product(MemberState, (False, True), (EPOCH, EPOCH + 1), topics):
        for owner in owners:
            member = Member(state, EPOCH, PREVIOUS, held(owner, ASSIGNED), held(owner, PENDING), names)
            taken = frozenset(one for one, who in zip(PARTITIONS, owner, strict=True) if who != NOBODY)
            for wanted, owned in product(subsets, (None, *subsets)):
                yield Question(member, Target(target, wanted), changed, owned, taken)


def held(owner: Sequence[int], how: int) -> frozenset[Holding]:
    return frozenset(
        Holding(one, EPOCHS[one]) for one, who in zip(PARTITIONS, owner, strict=True) if who == how
    )


def asked(question: Question) -> str:
    """The question as Reconciler.java reads it."""
    member, target = question.member, question.target
    return " ".join((
        *(KAFKAS[member.state], str(member.epoch), str(member.previous_epoch), str(target.epoch)),
        *("changed" if question.subscription_changed else "same", ",".join(sorted(member.topics)) or "-"),
        *(holdings(member.assigned), holdings(member.pending), names(target.partitions)),
        *("null" if question.owned is None else names(question.owned), names(question.taken)),
    ))  # fmt: skip


def told(member: Member) -> str:
    """The outcome as Reconciler.java writes it."""
    numbers = f"{member.epoch} {member.previous_epoch}"
    return f"{KAFKAS[member.state]} {numbers} {holdings(member.assigned)} {holdings(member.pending)}"


def holdings(some: frozenset[Holding]) -> str:
    each = (f"{one.partition.topic}{one.partition.index}={one.epoch}" for one in some)
    return ",".join(sorted(each)) or "-"


def names(some: frozenset[Partition]) -> str:
    return ",".join(sorted(f"{one.topic}{one.index}" for one in some)) or "-"


class NotCompiled(Exception):
    """Kafka's class cannot be asked here; the message says what is missing."""


def compiled(source: Path, folder: Path) -> tuple[str, ...]:
    """The command that runs a program of ours beside Kafka's classes. Errors: NotCompiled."""
    if (javac := shutil.which("javac")) is None:
        raise NotCompiled("no javac found (Debian: apt-get install openjdk-17-jdk-headless)")
    try:
        libs = f"{fetched(RELEASE).resolve()}/*"
    except NoJars as cause:
        raise NotCompiled(f"{RELEASE.name}: {cause}") from cause
    subprocess.run([javac, "-nowarn", "-d", str(folder), "-cp", libs, str(source)], check=True, timeout=600)
    java = find_java(RELEASE.java, f"Kafka {RELEASE.version}").path
    return (java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}:{folder}", source.stem)


def answers(command: Sequence[str], lines: Sequence[str]) -> list[str]:
    """What the program says to these lines, one each."""
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=900)
    found = done.stdout.splitlines()
    assert len(found) == len(lines), done.stderr[-2000:]
    return found
