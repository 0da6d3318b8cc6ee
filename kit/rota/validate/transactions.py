"""How transactions end in which a group has offsets, as producers' requests tell of it.

Of a group's coordinator nobody asks for the end of a transaction: the transactions' own coordinator has a
marker written, at some time after it has answered EndTxn. It was written when the producer may begin another
one. What that coordinator answers is not judged.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from rota.generate.requests import Body
from rota.linearise.history import EndTransaction

BEGINS, ADDS, ENDS = "InitProducerId", "AddOffsetsToTxn", "EndTxn"

OF_TRANSACTIONS = (BEGINS, ADDS, ENDS)
"""What producers ask the transactions' coordinator and is recorded."""

COMMITS = "TxnOffsetCommit"

UNHEARD = "what a producer said is not in the source"
"""In the place of an API: frames of a producer's connection are missing or cannot be read."""

IN_ONE_STEP_SINCE = 5
"""The first version of TxnOffsetCommit that adds the group to a transaction itself (KIP-890)."""

SHORTEST = 1.0
"""Seconds after which a transaction may have timed out whose timeout nobody told: the least that librdkafka
takes."""

UNSEEN = "a transaction's producer was not seen to begin: how its transactions end may not be in this source"

MOST_PRODUCERS = 10_000


@dataclass(frozen=True)
class Word:
    """What a producer has asked or was told. asked: when it was; timeout: seconds, of InitProducerId; error:
    of the answer, None of a request."""

    api: str
    transactional_id: str
    producer_id: int
    committed: bool
    asked: float
    timeout: float | None
    error: int | None = None

    @property
    def as_text(self) -> str:
        """To be read by `word_of`."""
        return json.dumps(vars(self))

    @property
    def granted(self) -> bool:
        """Whether it is an answer without an error."""
        return self.error == 0


@lru_cache(maxsize=1)
def word_of(text: str) -> Word:
    """A word from its text, which all groups are told one after the other."""
    return Word(**json.loads(text))


def asked_word(api: str, body: Body, now: float) -> Word:
    """What a request says. Errors: KeyError."""
    timeout = body.get("transaction_timeout_ms")
    return Word(
        api,
        body["transactional_id"] or "",
        body.get("producer_id", -1),
        bool(body.get("committed")),
        now,
        None if timeout is None else timeout / 1000,
    )


def unheard(transactional_id: str) -> Word:
    """That something a producer has said is missing."""
    return Word(UNHEARD, transactional_id, -1, False, 0.0, None)


class Timeouts:
    """When each producer was free to begin a transaction, and how long that may be open."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[float, float | None]] = OrderedDict()

    def hear(self, word: Word) -> None:
        """What a producer is told."""
        if not word.granted:
            return
        began, timeout = self._known.pop(word.transactional_id, (0.0, None))
        if word.api == ADDS:
            self._known[word.transactional_id] = began, timeout
            return
        self._known[word.transactional_id] = word.asked, timeout if word.api == ENDS else word.timeout
        if len(self._known) > MOST_PRODUCERS:
            self._known.popitem(last=False)

    def until(self, transactional_id: str, at: float) -> float:
        """From when on a transaction may have timed out in which somebody commits at some time."""
        began, timeout = self._known.get(transactional_id, (at, None))
        return max(at, began + timeout) if timeout is not None else at + SHORTEST

    def __contains__(self, transactional_id: str) -> bool:
        return transactional_id in self._known

    def __len__(self) -> int:
        return len(self._known)


@dataclass
class _Producer:
    """A producer that has committed in a group. used: in a transaction that may be open; expires: when that
    may have timed out, None where that was said; ends: numbers of what may have ended one, and when that was
    asked for."""

    producer_id: int
    used: bool = False
    expires: float | None = None
    ends: list[tuple[int, float]] = field(default_factory=list)


class Transactions:
    """The transactions in which one group has offsets. Parameters: timeouts, of all producers."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._producers: OrderedDict[str, _Producer] = OrderedDict()
        self._open: dict[tuple[str, int], int] = {}

    def __len__(self) -> int:
        return len(self._open) + sum(1 + len(one.ends) for one in self._producers.values())

    def commits(self, body: Body, now: float) -> None:
        """Somebody asks to commit in a transaction."""
        name, producer_id = body["transactional_id"], body["producer_id"]
        known = self._producers.pop(name, None)
        if known is None or known.producer_id != producer_id:
            known = _Producer(producer_id)
        if not known.used:
            known.used, known.expires = True, self._timeouts.until(name, now)
        self._producers[name] = known
        if len(self._producers) > MOST_PRODUCERS:
            self._producers.popitem(last=False)

    def timed_out(self, now: float) -> Sequence[tuple[float, str]]:
        """When transactions may have been aborted since they were open for too long, and whose; each once."""
        found: list[tuple[float, str]] = []
        for name, one in self._producers.items():
            if one.used and one.expires is not None and one.expires < now:
                found.append((one.expires, name))
                one.expires = None
        return found

    def may_end(
        self, group: str, word: Word, number: int, key: tuple[str, int] | None
    ) -> EndTransaction | None:
        """What ends by a request, if that is a transaction in which the group may have offsets.

        number: of what ends it in the group; key: of the request, whose answer is waited for.
        """
        one = self._producers.get(word.transactional_id)
        if one is None or not one.used or (word.api == ENDS and one.producer_id != word.producer_id):
            return None
        one.ends.append((number, word.asked))
        if key is not None:
            self._open[key] = number
        return EndTransaction(group, one.producer_id, word.api == ENDS and word.committed)

    def answered(self, key: tuple[str, int]) -> int | None:
        """The number of what was asked for, if that was of this group."""
        return self._open.pop(key, None)

    def uses(self, transactional_id: str) -> bool:
        """Whether somebody has committed in a transaction of this producer that may be open."""
        one = self._producers.get(transactional_id)
        return one is not None and one.used

    def ended(self, word: Word) -> None:
        """A transaction ends as it was said: what is committed from now on is in another one."""
        if (one := self._producers.get(word.transactional_id)) is not None:
            one.used, one.expires = False, None

    def refused(self, word: Word, number: int) -> None:
        """It was not ended by this request."""
        if (one := self._producers.get(word.transactional_id)) is not None:
            one.ends = [end for end in one.ends if end[0] != number]

    def over(self, name: str, asked: float) -> list[int]:
        """Another one could begin, as was asked then: what has ended the ones before is known to be done."""
        one = self._producers.get(name)
        if one is None:
            return []
        done = [number for number, at in one.ends if at < asked]
        one.ends = [end for end in one.ends if end[1] >= asked]
        return done
