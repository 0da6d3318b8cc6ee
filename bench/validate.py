"""What `rota validate` costs on a long recording of one group: `python -m bench.validate [EVENTS]`.

The recording is made here: members of one group, one request after the other, who heartbeat and commit, and
rebalance when their leader joins again. Each frame goes through the recorder's own dialogue, so the file is
as `rota record` would have written it. The command is run whole, with `--fresh`, over a tenth of the events
and over all of them. Told are seconds of processor, events a second and the most memory.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from bench.cost import cost

from rota.history import Event, line_of
from rota.record.dialogue import REQUEST_HEAD, RESPONSE_HEAD, Counted, Dialogue
from rota.wire import encode_request, encode_response

EVENTS, GROUPS = 1_000_000, (1, 3)
BEGINS = 1_795_400_000.0
REBALANCES = 2_000
"""Requests from one rebalance to the next."""

REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED = 27, 79
JOIN, SYNC, BEAT, COMMIT = ("JoinGroup", 9), ("SyncGroup", 5), ("Heartbeat", 4), ("OffsetCommit", 8)


class Recorded:
    """One group's frames, as lines. Parameters: members, how many there are."""

    def __init__(self, members: int) -> None:
        self.lines: list[str] = []
        self.told = 0
        self._at, self._correlation, self._generation, self._offset = BEGINS, 0, 0, 0
        self._dialogues = [self._dialogue(number) for number in range(members)]
        self._ids: list[str] = []

    def _dialogue(self, number: int) -> Dialogue:
        return Dialogue(number, ("127.0.0.1", 9092), None, self._now, self._take, Counted())

    def _now(self) -> tuple[float, str]:
        return self._at, f"night.jsonl#{self.told + 1}"

    def _take(self, event: Event) -> None:
        self.lines.append(line_of(event))
        self.told += 1

    def ask(self, who: int, api: tuple[str, int], body: Mapping[str, Any]) -> int:
        """A request, a moment later; its number."""
        self._correlation += 1
        self._at += 0.002
        payload = encode_request(*api, {"group_id": "orders", **body}, self._correlation, f"worker-{who}")
        asked = self._dialogues[who].ask_begins(payload[:REQUEST_HEAD], len(payload))
        assert asked is not None
        self._dialogues[who].asked(asked, payload)
        return self._correlation

    def answer(self, who: int, api: tuple[str, int], number: int, body: Mapping[str, Any]) -> None:
        """The answer to a request, a moment later."""
        self._at += 0.002
        payload = encode_response(*api, body, number)
        asked = self._dialogues[who].answer_begins(payload[:RESPONSE_HEAD], len(payload))
        assert asked is not None
        self._dialogues[who].answered(asked, payload)

    def course(self) -> Iterator[None]:
        """The members come one after the other, and go on for ever; a step is some requests."""
        for who in range(len(self._dialogues)):
            self._comes(who)
            yield
        while True:
            for _ in range(REBALANCES // len(self._ids)):
                self._at += 3.0
                for who in range(len(self._ids)):
                    self._beats(who)
                yield
            self._rebalances(0)
            yield

    def _comes(self, who: int) -> None:
        number = self.ask(who, JOIN, self._joining(""))
        member = f"worker-{who}-{UUID(int=who + 1, version=4)}"
        told = {"error_code": MEMBER_ID_REQUIRED, "generation_id": -1, "member_id": member}
        self.answer(who, JOIN, number, told | {"leader": "", "protocol_name": None, "members": []})
        self._ids.append(member)
        self._rebalances(who, pause=3.0 if who == 0 else 0.1)

    def _joining(self, member: str) -> dict[str, Any]:
        return {
            "session_timeout_ms": 45_000,
            "rebalance_timeout_ms": 300_000,
            "member_id": member,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"orders"}],
        }

    def _rebalances(self, first: int, pause: float = 0.1) -> None:
        """Somebody joins; the others are told so and join; the leader hands assignments in."""
        joins = {first: self.ask(first, JOIN, self._joining(self._ids[first]))}
        for who in range(len(self._ids)):
            if who != first:
                self._beats(who, REBALANCE_IN_PROGRESS)
                joins[who] = self.ask(who, JOIN, self._joining(self._ids[who]))
        self._at += pause
        self._generation += 1
        listed = [{"member_id": one, "metadata": b"orders"} for one in self._ids]
        for who, number in joins.items():
            told = {"generation_id": self._generation, "protocol_type": "consumer", "protocol_name": "range"}
            names = {"leader": self._ids[0], "member_id": self._ids[who]}
            self.answer(who, JOIN, number, told | names | {"members": [] if who else listed})
        for who, member in enumerate(self._ids):
            shares = [{"member_id": one, "assignment": one.encode()} for one in self._ids]
            names = {"protocol_type": "consumer", "protocol_name": "range"}
            asked = self._named(who) | names | {"assignments": [] if who else shares}
            number = self.ask(who, SYNC, asked)
            self.answer(who, SYNC, number, names | {"assignment": member.encode()})

    def _named(self, who: int) -> dict[str, Any]:
        return {"generation_id": self._generation, "member_id": self._ids[who]}

    def _beats(self, who: int, error: int = 0) -> None:
        number = self.ask(who, BEAT, self._named(who))
        self.answer(who, BEAT, number, {"error_code": error})
        if not error and number % 10 == 0:
            self._commits(who)

    def _commits(self, who: int) -> None:
        self._offset += 1
        named = {"generation_id_or_member_epoch": self._generation, "member_id": self._ids[who]}
        partition = {"partition_index": who, "committed_offset": self._offset}
        number = self.ask(who, COMMIT, named | {"topics": [{"name": "orders", "partitions": [partition]}]})
        stored = {"partition_index": who, "error_code": 0}
        self.answer(who, COMMIT, number, {"topics": [{"name": "orders", "partitions": [stored]}]})


def write(path: Path, events: int, members: int) -> None:
    """A recording of so many events, or a few more."""
    recorded = Recorded(members)
    with path.open("w", encoding="utf-8") as file:
        for _ in recorded.course():
            file.writelines(f"{line}\n" for line in recorded.lines)
            recorded.lines.clear()
            if recorded.told >= events:
                return


def main(events: int) -> None:
    """Make the recordings, judge them, tell what that cost."""
    with tempfile.TemporaryDirectory(prefix="rota-validate-") as folder:
        path = Path(folder, "night.jsonl")
        for members in GROUPS:
            for number in (events // 10, events):
                write(path, number, members)
                seconds, memory, said = cost("validate", "--fresh", "--quiet", str(path))
                print(f"{number:,} events, members: {members}, {path.stat().st_size >> 20} MiB: {said}")
                print(
                    f"  {seconds:.1f} s of processor, {number / seconds:,.0f} events/s, {memory} MiB at most",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)
