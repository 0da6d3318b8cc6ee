"""Tables as named arrays and bytes, and tables again from these."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rota.explore.tables.arrays import Column, IntMap, Ints, Region
from rota.explore.tables.kept import KeptValues, code_of
from rota.explore.tables.machines import Interned
from rota.explore.tables.properties import CheckGroup, Judge
from rota.explore.tables.system import Tables
from rota.kernel import encode
from rota.kernel.decoding import Decoder, kinds_within
from rota.kernel.encoding import Encoding

COLUMNS = ("entries", "outcomes", "outcome_machine")
"""Those of `Learned` that entries and outcomes are in."""

FAST = 1
"""How hard to compress: encodings have a tenth of their size already."""


def kinds(tables: Tables) -> set[type]:
    """The types of what was interned in this run. Errors: DecodeError for what could not be read back."""
    of = [table.interned for table in tables.learned.machines]
    return kinds_within(value for interned in (*of, tables.learned.messages) for value in interned.made())


def taken(tables: Tables) -> dict[str, Any]:
    """All that is known, as parts of a file."""
    learned, judge = tables.learned, tables.judge
    parts: dict[str, Any] = {}
    for number, table in enumerate(learned.machines):
        parts |= _values(f"machine {number}", table.interned)
        lanes = (("high", table.high), ("low", table.low), ("offers", table.actions))
        parts |= {f"machine {number} {name}": region.data for name, region in lanes}
    parts |= _values("messages", learned.messages)
    parts["deliveries"] = np.array(learned.delivery_list, np.int32).reshape(-1, 3)
    parts["queues"] = np.array([len(queue) for queue in learned.queue_list], np.int32)
    parts["pending"] = np.array([one for queue in learned.queue_list for one in queue], np.int32)
    parts |= _map("joins", learned.joins) | _map("receives", learned.receives)
    parts["received"] = np.array([table.received for table in learned.machines], np.int64)
    parts |= {name: getattr(learned, name).data for name in COLUMNS}
    known: dict[tuple[str, ...], int] = {}
    parts["outcome_rules"] = np.array(
        [known.setdefault(one, len(known)) for one in learned.outcome_rules], np.int32
    )
    parts["rules"] = encode(tuple(known))
    parts |= _map("sparse", judge.pools.sparse)
    for number, seen in enumerate(judge.seen.values()):
        parts[f"seen {number}"] = seen.shown
    for number, view in enumerate(judge.views.values()):
        parts[f"view {number}"] = view.codes()
    for number, answers in enumerate(judge.answers.values()):
        parts[f"judged {number}"], parts[f"answers {number}"] = answers.pairs()
    for group in _used(judge):
        parts |= _group(group)
    return {name: _narrow(part) for name, part in parts.items()}


def _narrow(part: Any) -> Any:
    """Numbers in as few bytes each as they fit into."""
    if isinstance(part, bytes) or part.dtype.kind != "i" or not part.size:
        return part
    least, most = int(part.min()), int(part.max())
    kinds = (np.dtype(f"i{size}") for size in (1, 2, 4, 8))
    return part.astype(
        next(kind for kind in kinds if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max)
    )


def recalled(tables: Tables, parts: Mapping[str, Any], decoder: Decoder) -> None:
    """Fill new tables with what an earlier run has learned of the same system.

    Errors: KeyError, ValueError, IndexError for parts that are not of these tables.
    """
    learned, judge = tables.learned, tables.judge
    for number, table in enumerate(learned.machines):
        _recall_values(f"machine {number}", table.interned, parts, decoder, learned.encoding)
        for name, region in (("high", table.high), ("low", table.low), ("offers", table.actions)):
            _fill(region, parts[f"machine {number} {name}"])
        table.received = int(parts["received"][number])
    _recall_values("messages", learned.messages, parts, decoder, learned.encoding)
    ends = np.cumsum(parts["queues"])[:-1]
    queues = [tuple(queue.tolist()) for queue in np.split(parts["pending"], ends)]
    deliveries = list(map(tuple, parts["deliveries"].tolist()))
    learned.recall(deliveries, queues)
    if learned.queue_list != queues or learned.delivery_list != deliveries:
        raise ValueError("queues and deliveries are not in the order in which they are learned")
    _recall_map("joins", learned.joins, parts)
    _recall_map("receives", learned.receives, parts)
    for name in COLUMNS:
        _fill(getattr(learned, name), parts[name])
    rules = decoder.decode(parts["rules"])
    learned.outcome_rules.extend(map(rules.__getitem__, parts["outcome_rules"].tolist()))
    _recall_map("sparse", judge.pools.sparse, parts)
    for number, seen in enumerate(judge.seen.values()):
        seen.recall(parts[f"seen {number}"])
    for number, view in enumerate(judge.views.values()):
        view.recall(parts[f"view {number}"])
    for number, answers in enumerate(judge.answers.values()):
        answers.recall(parts[f"judged {number}"], parts[f"answers {number}"])
    for group in _used(judge):
        _recall_group(group, parts)


def _values(name: str, interned: Interned) -> dict[str, Any]:
    raws = interned.encoded()
    return {
        f"{name} values": zlib.compress(b"".join(raws), FAST),
        f"{name} ends": np.cumsum([len(raw) for raw in raws], dtype=np.int64),
        f"{name} codes": np.array([code_of(raw) for raw in raws], np.uint64),
    }


def _recall_values(
    name: str, interned: Interned, parts: Mapping[str, Any], decoder: Decoder, encoding: Encoding
) -> None:
    packed, ends, codes = (parts[f"{name} {what}"] for what in ("values", "ends", "codes"))
    interned.recall(KeptValues(packed, ends, codes, decoder, encoding))


def _map(name: str, what: IntMap) -> dict[str, Any]:
    keys, values = what.items()
    return {f"{name} keys": keys, f"{name} values": values}


def _recall_map(name: str, what: IntMap, parts: Mapping[str, Any]) -> None:
    what.put(parts[f"{name} keys"].astype(np.int64), parts[f"{name} values"].astype(np.int32))


def _fill(column: Column | Region, data: Any) -> None:
    column.reserve(len(data))
    column.data[:] = data


def _used(judge: Judge) -> Iterable[CheckGroup]:
    return (group for group in judge.groups if group.checks)


def _group(group: CheckGroup) -> dict[str, Any]:
    used, fine = group.statuses()
    parts: dict[str, Any] = {
        f"group {group.number} bits": np.array((*group.bits, group.dense is not None), np.int64),
        f"group {group.number} used": used,
        f"group {group.number} fine": fine,
    }
    for number, slot in enumerate(group.slots):
        name = f"group {group.number} slot {number}"
        parts[f"{name} codes"] = slot.code.data
        parts[f"{name} joint"] = slot.joint.data
    return parts


def _recall_group(group: CheckGroup, parts: Mapping[str, Any]) -> None:
    first, second, dense = parts[f"group {group.number} bits"].tolist()
    used, fine = parts[f"group {group.number} used"], parts[f"group {group.number} fine"]
    group.recall((first, second), bool(dense), used, fine)
    for number, slot in enumerate(group.slots):
        name = f"group {group.number} slot {number}"
        joint: Ints = parts[f"{name} joint"]
        slot.recall(parts[f"{name} codes"], joint)


def names_of(tables: Tables) -> Sequence[str]:
    """What the numbers of machines and properties stand for, in their order."""
    machines = (f"{one.role} {one.name}" for one in tables.system.machines)
    return [*machines, *(f"{one.kind.value} {one.name}" for one in tables.system.properties)]
