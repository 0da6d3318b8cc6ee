"""Producers with a transactional id, who ask the transactions' coordinator until it grants what they want."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rota.conformance.connections.error_codes import LATER, NOT_READY
from rota.conformance.connections.null_tolerant import read_answer
from rota.generate.cast import Terms
from rota.generate.lines import Line, Open
from rota.generate.requests import SEVERAL_FOUND
from rota.wire import WireError, encode_request, frame

TIMEOUT_MS = 600_000
"""How long a transaction may be open, far longer than a walk."""

WITHIN = 15.0
"""Seconds in which something has to be granted; else the transaction is none."""

ANSWERED_WITHIN = 3.0
"""Seconds in which an answer has to come, or it is asked again on another connection."""

PAUSE = 0.02
"""Seconds before it is asked again."""

OF_TRANSACTIONS = 1
"""The type of key by which FindCoordinator looks for a transaction's coordinator."""

FRESH = {"transaction_timeout_ms": TIMEOUT_MS, "producer_id": -1, "producer_epoch": -1}


Note = Callable[[str, bool, str, int, bytes], None]
"""Takes what a producer says: its transactional id, whether it asks (or is answered), API, version, frame."""


class Waiting(Protocol):
    """Who knows whether the target is being restarted."""

    async def up(self) -> None:
        """Wait until it is there."""


@dataclass
class Producer:
    """A producer of one transactional id. identity: what all its requests name, empty until it has begun, and
    when it has ended; interrupted: whether the target was started again meanwhile; used: whether anybody has
    committed in it.
    """

    transactional_id: str
    group_id: str
    open: Open
    terms: Terms
    target: Waiting
    note: Note
    identity: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    used: bool = False
    _line: Line | None = None
    _awaited: asyncio.Future[bytes] | None = None
    _number: int = 0
    _refused: bool = False

    def heard(self, data: bytes) -> None:
        """As of `Listening`."""
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(data)

    def ended(self) -> None:
        """As of `Listening`."""
        self._line = None
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_exception(ConnectionResetError("the target ended the connection"))

    async def begin(self) -> bool:
        """Begin a transaction in which the group's offsets are. Whether that was granted."""
        named = {"transactional_id": self.transactional_id}
        made = await self._granted("InitProducerId", {**named, **FRESH})
        if made is None:
            return False
        identity = {**named, "producer_id": made["producer_id"], "producer_epoch": made["producer_epoch"]}
        if await self._granted("AddOffsetsToTxn", {**identity, "group_id": self.group_id}) is None:
            return False
        self.identity = identity
        return True

    async def end(self, committed: bool) -> bool | None:
        """End it. Whether it is over when this returns: another one could begin then; None: nobody knows."""
        ended = await self._granted("EndTxn", {**self.identity, "committed": committed})
        named, self.identity = {"transactional_id": self.transactional_id}, {}
        if ended is None:
            return False if self._refused else None
        return True if await self._granted("InitProducerId", {**named, **FRESH}) is not None else None

    async def _granted(self, api: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to what was granted in time, at once or when what is under way is over; else None."""
        loop, self._refused, heard = asyncio.get_running_loop(), False, True
        deadline = loop.time() + WITHIN
        while loop.time() < deadline:
            await self.target.up()
            answer = await self._asked(api, body)
            code = None if answer is None else answer["error_code"]
            heard = heard and answer is not None
            if code == 0:
                return answer
            if code is not None and code not in LATER:
                self._refused = heard  # what was not answered before may have been done
                return None
            if code in NOT_READY:
                await self._look_for_a_coordinator()
            await asyncio.sleep(PAUSE)
        return None

    async def _asked(self, api: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer, None where none comes."""
        version = self.terms.spoken(api)[-1]
        self._number += 1
        self._awaited = asyncio.get_running_loop().create_future()
        try:
            if self._line is None:
                self._line = await self.open(self)
            data = frame(encode_request(api, version, dict(body), self._number, "producer"))
            self.note(self.transactional_id, True, api, version, data)
            self._line.send(data)
            await asyncio.wait((self._awaited,), timeout=ANSWERED_WITHIN)
            if self._awaited.done():
                answer = self._awaited.result()
                self.note(self.transactional_id, False, api, version, answer)
                return read_answer(api, version, answer[4:])[1]
        except (OSError, WireError):
            pass
        self.close()
        return None

    async def _look_for_a_coordinator(self) -> None:
        """A broker makes the topic of its transactions when it is asked for their coordinator."""
        key = self.transactional_id
        several = self.terms.spoken("FindCoordinator")[-1] >= SEVERAL_FOUND
        named: dict[str, Any] = {"coordinator_keys": [key]} if several else {"key": key}
        await self._asked("FindCoordinator", {"key_type": OF_TRANSACTIONS, **named})

    def close(self) -> None:
        """End the connection."""
        line, self._line = self._line, None
        if line is not None:
            line.cut()


class Producers:
    """The producers of one group, by the numbers of their transactions. Parameters: as of `Producer`."""

    def __init__(self, group_id: str, opens: Open, terms: Terms, target: Waiting, note: Note) -> None:
        self._group_id, self._about = group_id, (opens, terms, target, note)
        self._all: dict[int, Producer] = {}

    def another(self, transaction: int) -> Producer:
        """One that has not begun yet."""
        name = f"{self._group_id}-{transaction}"
        self._all[transaction] = Producer(name, self._group_id, *self._about)
        return self._all[transaction]

    def of(self, transaction: int) -> Producer | None:
        """The one whose transaction is open; None where it is not."""
        found = self._all.get(transaction)
        return found if found is not None and found.identity else None

    def committing(self, transaction: int) -> dict[str, Any]:
        """What whoever commits in a transaction names of it."""
        producer = self._all[transaction]
        producer.used = True
        return producer.identity

    def interrupt(self) -> None:
        """The target will be ended now: connections break."""
        for one in self._all.values():
            one.interrupted = True
        self.close()

    def close(self) -> None:
        """End their connections."""
        for one in self._all.values():
            one.close()
