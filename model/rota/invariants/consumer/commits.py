"""What is claimed of commits: by what was so when one was answered, and by what its client uses."""

from __future__ import annotations

from rota.environment.consumer.state import ALIVE, Consumer
from rota.invariants.consumer.views import CLIENT
from rota.kernel import Kind, Property
from rota.spec.consumer.vocabulary import ErrorCode

SOURCE = "KIP-1251; upstream ConsumerGroup#validateOffsetCommit"
RULES = ("offsets.commit-stale", "offsets.commit")


def is_accepted(client: Consumer) -> bool:
    """Whether its commit was stored."""
    return _told(client) is ErrorCode.NONE


def is_held(client: Consumer) -> bool:
    """Whether all that it committed was its own by the records."""
    told = client.commit.told if client.commit else None
    return told is not None and told.held


def _told(client: Consumer) -> ErrorCode | None:
    told = client.commit.told if client.commit else None
    return told.error if told else None


def is_late(client: Consumer) -> bool:
    """Whether its commit was stored at an epoch before the member's."""
    told = client.commit.told if client.commit else None
    return is_accepted(client) and told is not None and told.older


def uses_it_still(client: Consumer) -> bool:
    """Whether it has used all the while what its commit, which is answered, is of."""
    commit = client.commit
    return client.phase in ALIVE and commit is not None and commit.told is not None and commit.used


def _uses_its_own(client: Consumer) -> bool:
    return uses_it_still(client) and is_held(client)


def is_stale(client: Consumer) -> bool:
    """Whether its commit was refused since its epoch is stale."""
    return _told(client) is ErrorCode.STALE_MEMBER_EPOCH


def is_not_stale(client: Consumer) -> bool:
    """Whether nothing of it was refused for its epoch."""
    return not is_stale(client)


COMMITS = (
    Property(
        "consumer.late-commit-is-of-its-own",
        Kind.SAFETY,
        "What is committed at an epoch before the member's is the member's own by the records.",
        (CLIENT,),
        is_held,
        given=is_late,
        source=SOURCE,
        rules=RULES,
    ),
    Property(
        "consumer.commit-of-its-own",
        Kind.SAFETY,
        "Who commits what it uses all the while, its own by the records, is not told that it is stale.",
        (CLIENT,),
        is_not_stale,
        given=_uses_its_own,
        source=SOURCE,
        rules=RULES,
    ),
)
