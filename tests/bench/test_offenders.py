"""The bench of offenders: a server that harms its members is seen; frames are what they say."""

from __future__ import annotations

import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from bench.offenders import COMMAND, faults, main
from bench.offenders_beats import Beat, Summary, summary
from bench.offenders_client import Client, Unanswered, request
from bench.offenders_list import OFFENCES, Act, Offence
from bench.offenders_run import Failed, Outcome, Plan, measured
from bench.offenders_table import Row, merged, oldest, rows_in, text_of

from bench import offenders_frames as frames
from rota.server import running
from rota.wire import advertised, api, decode_request
from rota.wire.records import MAX_INFLATED, split

SERVER = """
import asyncio, os, time
from dataclasses import replace
from rota.coordinator import GroupCoordinator
from rota.server import serve

class Planted(GroupCoordinator):
    def heartbeat(self, request, *inputs):
        return super().heartbeat(replace(request, member_id="nobody") if expelled else request, *inputs)

kept, expelled = [], []
async def main():
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    def harm():
        {harm}
        loop.call_later(1, harm)
    def listening(server):
        print("listening on", server.bootstrap, flush=True)
        loop.call_later(1, harm)
    await serve({{"group.initial.rebalance.delay.ms": 0}}, 0, stop, listening, Planted)
asyncio.run(main())
"""
"""A server that does harm, again and again."""

IDLE = OFFENCES["nobody"]


def plan_with(harm: str) -> Plan:
    """A short measurement of a server with this harm."""
    return Plan([sys.executable, "-c", SERVER.format(harm=harm)], seconds=1.6, wait=0.5, least=0.1)


def said_of(harm: str, offence: Offence = IDLE, connections: int = 0) -> str:
    """What is wrong with it, in words."""
    plan = plan_with(harm)
    return "; ".join(faults(measured(offence, connections, plan), plan))


def test_a_server_that_freezes_is_seen() -> None:
    """For a second and a half of every two and a half: who waited for answers would see one beat of it."""
    found = said_of("time.sleep(1.5)")
    assert "p99 " in found
    assert "one took 1," in found


def test_a_server_that_expels_its_members_is_seen() -> None:
    assert "heartbeats refused" in said_of("expelled.append(1)")


def test_memory_that_is_kept_is_seen() -> None:
    assert "MiB kept" in said_of("kept.append(b'x' * (100 << 20))")


def test_a_server_that_ends_is_seen() -> None:
    found = said_of("os._exit(3)")
    assert "the server ended with code 3" in found
    assert "heartbeats refused" in found


def test_a_server_that_takes_all_memory_is_ended() -> None:
    plan = replace(plan_with("kept.append(b'x' * (100 << 20))"), memory=100.0)
    assert "the server ended at 100 MiB" in list(faults(measured(IDLE, 0, plan), plan))


def test_a_request_without_its_answer_is_seen() -> None:
    def act(client: Client) -> None:
        raise Unanswered("never")

    assert "requests without an answer" in said_of("pass", Offence("mute", "", lambda address: act), 1)


def test_what_cannot_be_prepared_is_told() -> None:
    def prepare(address: str) -> Act:
        raise ValueError("no such topic")

    with pytest.raises(Failed, match="odd could not be prepared: ValueError: no such topic"):
        said_of("pass", Offence("odd", "", prepare), 1)


def beats(*answered: float | None, error: int = 0) -> list[Beat]:
    return [Beat(index / 10, 0.001, wait, error) for index, wait in enumerate(answered)]


def test_latency_counts_from_the_moment_when_it_was_due() -> None:
    found = summary(beats(0.002, 0.002, 0.5, None), 0.0, 2.0)
    assert (found.beats, found.p50, found.p99, found.most) == (4, 2.0, 1700.0, 1700.0)
    assert (found.late, found.unanswered, found.refused) == (1.0, 1, 0)
    assert summary(beats(0.002, 0.002, error=25), 0.1, 2.0).refused == 1


FINE = Outcome(
    Summary(6_000, 1.0, 9.0, 20.0, 3.0, 0, 0), 30.0, 0.5, 0.0, 30.0, 40.0, 31.0, 0.1, 9, 0, 0, 0.1, ""
)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (FINE, []),
        (replace(FINE, members=replace(FINE.members, p99=101.0)), ["p99 101 ms"]),
        (replace(FINE, members=replace(FINE.members, most=1_001.0)), ["one took 1,001 ms"]),
        (replace(FINE, members=replace(FINE.members, refused=2)), ["2 heartbeats refused"]),
        (replace(FINE, members=replace(FINE.members, beats=0)), ["no heartbeat was measured"]),
        (replace(FINE, mute=1), ["1 requests without an answer"]),
        (replace(FINE, back=None, after=95.0), ["65 MiB kept"]),
        (replace(FINE, back=None), ["nobody answered after 60 s"]),
        (replace(FINE, stop=2.5), ["a stop of 2.5 s"]),
        (replace(FINE, stop=None), ["no stop"]),
        (replace(FINE, died="ended with code 1", stop=None), ["the server ended with code 1"]),
    ],
)
def test_what_is_wrong_is_said(outcome: Outcome, said: list[str]) -> None:
    assert list(faults(outcome, Plan(()))) == said


def test_what_was_measured_before_stays_where_nothing_is_new() -> None:
    old, other = Row.of("a", 1, FINE, ()), Row.of("b", 8, FINE, ("p99",))
    new = replace(old, done=10)
    assert merged([old, other], [new]) == [new, other]
    assert rows_in(text_of("2 cores", [new, other])) == [new, other]


def test_the_oldest_rows_are_measured_again_and_kept_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    days = {("heartbeats", 1): "2026-01-03T10:00Z", ("heartbeats", 8): "2026-01-01T10:00Z",
            ("nobody", 0): "2026-01-02T10:00Z"}  # fmt: skip
    before = [Row.of(*each, FINE, (), day) for each, day in days.items()]
    file = tmp_path / "offenders.json"
    file.write_text(text_of("2 cores", before), encoding="utf-8")

    def measured(offence: Offence, connections: int, plan: Plan) -> Outcome:
        if offence.name == "nobody":
            raise Failed("nothing can be measured")
        return replace(FINE, done=10)

    monkeypatch.setattr("bench.offenders.measured", measured)
    assert main(["--oldest", "2", "--docs", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("2 rows, some 1 min, ")
    assert said.err == "bench: nothing can be measured\n"
    kept = {(row.offence, row.connections): row for row in rows_in(file.read_text(encoding="utf-8"))}
    assert kept["heartbeats", 8].done == 10
    assert oldest(kept.values(), 2) == [("nobody", 0), ("heartbeats", 1)]
    assert "2026-01-02 10:00 to 20" in (tmp_path / "server-limits.md").read_text(encoding="utf-8")


def test_numbers_take_the_place_of_the_mark() -> None:
    body = frames.commit(frames.NUMBER, range(1), 10)
    payload = frames.numbered(request("OffsetCommit", 8, body), 8_000_000_007)[4:]
    assert decode_request(payload).body["group_id"] == "008000000007"


def batch_of(data: bytes) -> tuple[int, bytes]:
    """The number of records that a Produce's batch announces, and what is packed in it."""
    (topic,) = decode_request(data[4:]).body["topic_data"]
    ((info, batch),) = split(topic["partition_data"][0]["records"])
    out, rest = bytearray(), batch[61:]
    while rest:
        stream = zlib.decompressobj(wbits=31)
        out += stream.decompress(rest)
        rest = stream.unused_data
    return info.count, bytes(out)


def test_packed_batches_expand_to_what_is_allowed_and_no_further() -> None:
    data = frames.gzip_streams(1_500)
    assert len(data) < 130_000
    assert 0.99 * MAX_INFLATED < len(batch_of(data)[1]) <= MAX_INFLATED
    data = frames.gzip_bomb()
    count, body = batch_of(data)
    assert len(data) < 130_000
    assert (count, len(body)) == (MAX_INFLATED // 7, count * 7)


def test_long_frames_are_what_they_say() -> None:
    assert len(decode_request(frames.leave_many(1_000)[4:]).body["members"]) == 1_000
    assert len(frames.leave_many(14_000_000)) > 40 << 20
    assert len(decode_request(frames.tagged(1_000)[4:]).body["_tags"]) == 1_000
    bodies = [decode_request(data[4:]) for data in frames.big_frames(30_000)]
    assert [each.api.name for each in bodies] == ["JoinGroup", "SyncGroup", "Heartbeat", "Produce"]


def test_every_request_with_an_array_is_in_the_long_arrays() -> None:
    those = [decode_request(data[4:]) for data in frames.long_arrays(7)]
    with_array = {
        name
        for name, (_, version) in advertised().items()
        if any(field.array and version in field.versions for field in api(name).request)
    }
    assert {each.api.name for each in those} == with_array
    assert len(those) > len(with_array)


SLOW = {"list-groups", "delete-groups", "half-frames", "leave-many", "tagged-fields", "big-frames",
        "gzip-streams", "gzip-many-streams", "gzip-bomb", "describe-repeated", "offset-fetch-repeated",
        "pipelined-metadata", "long-arrays", "produce-beside-fetches", "slow-readers"}  # fmt: skip
"""Offences that are not tried here, where a server takes part in this process."""


@pytest.mark.parametrize("name", sorted(OFFENCES.keys() - SLOW - {"nobody"}))
def test_an_offence_is_done(name: str) -> None:
    with running({"group.initial.rebalance.delay.ms": 0}) as address:
        act = OFFENCES[name].prepare(address)
        with Client(address) as client:
            try:
                act(client)
            except Unanswered:
                assert OFFENCES[name].answered
            except (OSError, EOFError):
                assert name == "garbage"


def test_the_command_measures_and_judges(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--only", "nobody", "--seconds", "0.5", "--wait", "0.1", "--server", "true"]) == 1
    assert "true does not say where it listens" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--only", "somebody"])
    assert COMMAND[-2:] == ["rota", "serve"]
