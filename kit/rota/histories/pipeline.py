"""From paths to tables: what is read, routed, judged and finished, and what of it is done already."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rota.histories import finishing, manifest, reading, tasks
from rota.histories.manifest import Manifest, OtherRun, Round
from rota.histories.plan import Plan, Span
from rota.histories.record import kept
from rota.histories.routed import Routed
from rota.histories.shards import PIECE, Shard, shards_of
from rota.reading import Tally

SHARE = 24 << 20
"""Bytes of sources for each part and each bucket."""

MOST_PARTS, MOST_BUCKETS = 256, 4096
"""Everybody who judges a bucket looks into the rows of every part: what is larger has larger parts."""


@dataclass
class Pipeline:
    """One run over what is below paths.

    plan: without parts, buckets and spans, which follow from what is there; settings: by what is judged, as
    JSON has it; run: does the work; say: is told what is done; buckets: how many, None: it follows from the
    size; piece: bytes of a piece of a file. Attributes: tally; shards, all that is told of.
    """

    plan: Plan
    settings: dict[str, Any]
    run: tasks.Runner
    say: Callable[[str], None]
    buckets: int | None = None
    piece: int = PIECE

    def __post_init__(self) -> None:
        self.tally = Tally()
        self.shards: list[Shard] = []

    def tables(self, paths: Sequence[str]) -> Manifest:
        """Make the tables. Errors: ReadingError, OtherRun."""
        before = manifest.read(self.plan.folder, self.settings)
        found = shards_of(paths, self.plan.options, self.tally, self.piece)
        known = before or self._first(found)
        self.plan = replace(self.plan, parts=known.parts, buckets=known.buckets)
        self.shards = [
            Shard.of(one) for one in self.run(tasks.DIGEST, self.plan, [asdict(one) for one in found])
        ]
        new = self._new(known)
        if new or not known.rounds:
            if before is None:
                known.write(self.plan.folder)  # who goes on with it goes on by the same settings
            known = self._judged(known, new)
            finishing.finish(self.plan, known)
            known.write(self.plan.folder)
        return known

    def _first(self, found: Sequence[Shard]) -> Manifest:
        size = sum(one.size() for one in found)
        divided = max(1, -(-size // SHARE))
        buckets = self.buckets or min(MOST_BUCKETS, divided)
        return Manifest(self.settings, min(MOST_PARTS, divided), buckets)

    def _new(self, known: Manifest) -> list[Shard]:
        """Shards that were not read before. Errors: OtherRun where what was is not as it was."""
        remedy = "name an empty folder with --out, or put it back"
        there, then = {one.whose: one for one in self.shards}, {one.whose: one for one in known.shards}
        for whose, shard in then.items():
            now = there.get(whose)
            if now is None:
                raise OtherRun(
                    f"{shard.name} was judged in {self.plan.folder} and is not given now; {remedy}"
                )
            if now.id != shard.id:
                raise OtherRun(
                    f"{shard.name} has changed since it was judged in {self.plan.folder}; {remedy}"
                )
        order = [one.name for one in known.shards]
        if order != [one.name for one in self.shards if one.whose in then]:
            raise OtherRun(f"sources of {self.plan.folder} are given in another order; give them as before")
        return [one for one in self.shards if one.whose not in then]

    def _judged(self, known: Manifest, new: Sequence[Shard]) -> Manifest:
        self._work(tasks.READ, [asdict(one) for one in new], "read", "file", "files")
        spans = self._spans()
        self.plan = replace(self.plan, spans=spans)
        again = self._again(known, new)
        ids = json.dumps([[one.id, one.source] for one in self.shards] + [sorted(again)])
        name = f"{len(known.rounds):04}-{blake2b(ids.encode(), digest_size=8).hexdigest()}"
        order = tuple(dict.fromkeys(one.name for one in self.shards))
        rounds = (*known.rounds, Round(f"routed/{name}", order, tuple(sorted(again))))
        parts = [*self._parts(known, new, again, rounds[-1].folder)]
        self._work(tasks.ROUTE, parts, "route", "part", "parts")
        told = [kept(Path(one["folder"])) for one in parts]
        for_all = known.for_all + sum(one["for_all"] for one in told)
        anew = {
            cluster
            for cluster, span in spans.items()
            if cluster in known.spans
            and (known.spans[cluster].began != span.began or for_all > known.for_all)
        }
        touched = Counter[int]()
        for one in told:
            touched.update({int(number): rows for number, rows in one["buckets"].items()})
        found = replace(known, shards=tuple(self.shards), rounds=rounds, spans=spans, for_all=for_all)
        self.plan = replace(self.plan, routed=tuple(self._routed(found)), anew=frozenset(anew))
        buckets = [*self._buckets(found, touched, name)]
        self._work(tasks.JUDGE, buckets, "judge", "bucket of groups", "buckets of groups")
        folders = {one["number"]: str(Path(one["folder"]).relative_to(self.plan.work)) for one in buckets}
        return replace(found, judged={**known.judged, **folders})

    def _work(self, kind: str, pieces: Sequence[Any], verb: str, one: str, several: str) -> None:
        done = sum(self._is_done(kind, piece) for piece in pieces)
        left = f", {done:,} of them done before" if done else ""
        self.say(f"{verb}: {len(pieces):,} {one if len(pieces) == 1 else several}{left}")
        self.run(kind, self.plan, [piece for piece in pieces if not self._is_done(kind, piece)])

    def _is_done(self, kind: str, piece: Any) -> bool:
        folder = (
            reading.folder_of(self.plan, Shard.of(piece)) if kind == tasks.READ else Path(piece["folder"])
        )
        return kept(folder) is not None

    def _spans(self) -> dict[str, Span]:
        spans: dict[str, Span] = {}
        for shard in self.shards:
            told = kept(reading.folder_of(self.plan, shard))
            if told["events"]:
                span = Span(told["began"], told["ended"])
                spans[shard.cluster] = spans.get(shard.cluster, Span()).with_more(span)
        return spans

    def _again(self, known: Manifest, new: Sequence[Shard]) -> frozenset[int]:
        """Conversations of old shards that go on in new ones."""
        begun: set[int] = set()
        for shard in new:
            begun.update(self._conversations(shard))
        then = {one.whose for one in known.shards}
        old = (one for one in self.shards if one.whose in then)
        return frozenset(one for shard in old for one in self._conversations(shard) if one in begun)

    def _conversations(self, shard: Shard) -> array[int]:
        told = array("q")
        told.frombytes((reading.folder_of(self.plan, shard) / reading.CONVERSATIONS).read_bytes())
        return told

    def _parts(
        self, known: Manifest, new: Sequence[Shard], again: frozenset[int], folder: str
    ) -> Iterator[dict[str, Any]]:
        then = {one.whose for one in known.shards}
        old = [
            one for one in self.shards if one.whose in then and not again.isdisjoint(self._conversations(one))
        ]
        rows = {one.whose: kept(reading.folder_of(self.plan, one))["parts"] for one in (*new, *old)}
        for number in range(self.plan.parts):
            has = [one for one in new if str(number) in rows[one.whose]]
            if has:
                yield {
                    "number": number,
                    "folder": str(self.plan.work / folder / f"{number:05}"),
                    "new": [asdict(one) for one in has],
                    "old": [asdict(one) for one in old if str(number) in rows[one.whose]],
                    "again": sorted(one for one in again if one % self.plan.parts == number),
                }

    def _buckets(self, found: Manifest, touched: Mapping[int, int], name: str) -> Iterator[dict[str, Any]]:
        """Those of which something is to be judged, the largest first."""
        for number in sorted(range(found.buckets), key=lambda one: -touched.get(one, 0)):
            before = found.judged.get(number)
            waits = before is None or self.plan.anew or kept(self.plan.work / before)["open"]
            if number in touched or waits:
                yield {
                    "number": number,
                    "folder": str(self.plan.work / "judged" / name / f"{number:05}"),
                    "before": str(self.plan.work / before) if before else "",
                }

    def _routed(self, found: Manifest) -> Iterator[Routed]:
        places = {name: place for place, name in enumerate(found.rounds[-1].sources)}
        for turn, one in enumerate(found.rounds):
            stale = frozenset(number for later in found.rounds[turn + 1 :] for number in later.again)
            own = {} if self.plan.options.unordered else dict(enumerate(places[name] for name in one.sources))
            for folder in sorted((self.plan.work / one.folder).glob("[0-9]*")):
                yield Routed(folder, own, stale, turn == len(found.rounds) - 1)
