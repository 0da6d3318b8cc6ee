"""Processor seconds that `rota.reading` takes for a broker's log, and the memory it holds meanwhile.

    .venv/bin/python bench/logs.py [LINES] [SHARE]

Makes a log of LINES (default: 1,000,000), of which SHARE of a hundred (default: 5) are about groups, the
others what a broker prints all day; reads it, and once more packed with gzip. It is a broker's day: to read
it should take well below a minute.
"""

from __future__ import annotations

import gzip
import random
import resource
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import process_time

from rota.reading import ReadOptions, Tally, read

START = datetime(2026, 11, 22, tzinfo=UTC)

OTHERS = (
    "[UnifiedLog partition=orders-{n}, dir=/var/lib/kafka] Rolled new log segment at offset {n}{n} in 1 ms."
    " (org.apache.kafka.storage.internals.log.UnifiedLog)",
    "[ProducerStateManager partition=orders-{n}] Wrote producer snapshot at offset {n}{n} with 0 producer ids"
    " in 2 ms. (org.apache.kafka.storage.internals.log.ProducerStateManager)",
    "[LocalLog partition=orders-{n}, dir=/var/lib/kafka] Deleting segment files LogSegment(baseOffset={n}{n},"
    " size=1073741789, lastModifiedTime=1795341600123) (org.apache.kafka.storage.internals.log.LocalLog)",
    "[ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Partition payments-{n} has an older epoch (3) than"
    " the current leader. Will await the new LeaderAndIsr state before resuming fetching."
    " (kafka.server.ReplicaFetcherThread)",
    "[NodeToControllerChannelManager id=1 name=heartbeat] Client requested disconnect from node {n}"
    " (org.apache.kafka.clients.NetworkClient)",
)
JAVA = "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] "
LOGGER = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
REBALANCE = (
    "Dynamic member with unknown member id joins group g-{g} in Stable state. Created a new member id"
    " consumer-{m} and requesting the member to rejoin with this id.",
    "Pending dynamic member with id consumer-{m} joins group g-{g} in Stable state. Adding to the group now.",
    "Preparing to rebalance group g-{g} in state PreparingRebalance with old generation {n} (reason: Adding"
    " new member consumer-{m} with group instance id null; client reason: need to re-join with the given"
    " member-id: consumer-{m}).",
    "Stabilized group g-{g} generation {n} with 12 members.",
    "Assignment received from leader consumer-{m} for group g-{g} for generation {n}. The group has 12"
    " members, 0 of which are static.",
    "Member consumer-{m} in group g-{g} has failed, removing it from the group.",
)


def made(lines: int, share: float) -> Iterator[str]:
    """The lines of a day."""
    chance = random.Random(1)
    for number in range(lines):
        at = START + timedelta(days=number / lines)
        words, around = OTHERS, ("", "")
        if chance.random() * 100 < share:
            words, around = REBALANCE, (JAVA, LOGGER)
        g, m, n = chance.randrange(500), chance.randrange(10**6), number % 997
        text = chance.choice(words).format(g=g, m=f"{m:032x}", n=n)
        yield f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] INFO {around[0]}{text}{around[1]}\n"


def measured(path: Path) -> tuple[float, int]:
    """Seconds of processor time, and how many events there were."""
    tally = Tally()
    begin = process_time()
    for _ in read([str(path)], options=ReadOptions(time_zone=UTC), tally=tally):
        pass
    assert tally.unread == tally.broken == 0
    return process_time() - begin, tally.events


def main(lines: int, share: float) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = Path(folder, "server.log"), Path(folder, "packed.log.gz")
        with plain.open("w", encoding="utf-8") as out, gzip.open(packed, "wt", 1, encoding="utf-8") as zipped:
            making = made(lines, share)
            while text := "".join(islice(making, 10_000)):
                out.write(text)
                zipped.write(text)
        size = plain.stat().st_size / 2**20
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for path in (plain, packed):
            seconds, events = measured(path)
            print(
                f"{path.name}: {lines:,} lines, {size:.0f} MiB unpacked, {events:,} events:"
                f" {seconds:.2f} s of processor time, {seconds / lines * 1e6:.2f} us a line"
            )
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"the most memory meanwhile: {more / 1024:.1f} MiB more than before")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
    )
