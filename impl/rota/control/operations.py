"""What can be asked at the control port: a table of operations, each carried out by `Controls`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rota.control.fields import BadRequestError, Field
from rota.control.groups import described
from rota.server.controls import Controls, error_code
from rota.server.faults import Fault, FaultKind, Planned
from rota.server.intake import FRAME_LIMITS
from rota.wire.error_codes import ERROR_CODES

MOST_TIMES = 1_000_000
MOST_DELAY_MS = 3_600_000
MOST_SECONDS = 366 * 24 * 3600.0

Said = Mapping[str, Any]
Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """One operation. name: its id for clients that are generated; gives: what the answer's fields are.

    carry_out: is called on the server's event loop. Errors: BadRequestError; ControlError.
    """

    name: str
    method: str
    path: str
    about: str
    carry_out: Callable[[Controls, Said], Awaitable[Answer]]
    fields: tuple[Field, ...] = ()
    gives: Mapping[str, str] = field(default_factory=dict)


_NAMES = {code: name for name, code in ERROR_CODES.items()}


async def _health(controls: Controls, said: Said) -> Answer:
    return {"status": "ok", "bootstrap": controls.bootstrap, "now_ms": controls.now_ms}


async def _groups(controls: Controls, said: Said) -> Answer:
    return {"groups": described(controls, said["group_id"]), "coordinator": _coordinator(controls)}


async def _connections(controls: Controls, said: Said) -> Answer:
    return {
        "connections": [
            {"client": each.client, "names": sorted(each.names)} for each in controls.connections()
        ]
    }


async def _drop(controls: Controls, said: Said) -> Answer:
    return {"closed": controls.drop(said["whose"])}


async def _planned(controls: Controls, said: Said) -> Answer:
    faults = controls.faults
    return {
        "faults": [_told(each) for each in faults.planned],
        "append_errors": [_NAMES.get(code, code) for code in faults.append_errors],
    }


def _told(planned: Planned) -> Answer:
    fault = planned.fault
    more: dict[str, Any] = {}
    if fault.kind is FaultKind.ERROR:
        more["error"] = _NAMES.get(fault.error_code, fault.error_code)
    if fault.kind is FaultKind.DELAY:
        more["delay_ms"] = fault.delay_ms
    about = {"api": planned.api, "fault": str(fault.kind), "client_id": planned.client_id}
    return {**about, "left": planned.left, **more}


async def _plan(controls: Controls, said: Said) -> Answer:
    kind = FaultKind(said["fault"])
    for name, only in (("error", FaultKind.ERROR), ("delay_ms", FaultKind.DELAY)):
        if kind is only and said[name] is None:
            raise BadRequestError(f"{name} is missing: a fault {str(kind)!r} has to say it")
        if kind is not only and said[name] is not None:
            raise BadRequestError(f"{name} says nothing of a fault {str(kind)!r}; leave it out")
    code = 0 if said["error"] is None else error_code(said["error"])
    fault = Fault(kind, code, said["delay_ms"] or 0)
    return _told(controls.plan(said["api"], fault, said["client_id"], said["times"]))


async def _forget(controls: Controls, said: Said) -> Answer:
    faults = controls.faults
    forgotten = len(faults.planned) + len(faults.append_errors)
    faults.forget()
    return {"forgotten": forgotten}


async def _fail_appends(controls: Controls, said: Said) -> Answer:
    controls.fail_appends(said["error"], said["times"])
    return await _planned(controls, said)


async def _expire(controls: Controls, said: Said) -> Answer:
    return {"member_id": controls.expire(said["member"], said["group_id"])}


async def _move(controls: Controls, said: Said) -> Answer:
    return {"coordinator": await controls.move_coordinator(said["node_id"], said["group_id"])}


async def _unload(controls: Controls, said: Said) -> Answer:
    await controls.unload_coordinator()
    return {"coordinator": None}


async def _load(controls: Controls, said: Said) -> Answer:
    return {"coordinator": await controls.load_coordinator()}


def _coordinator(controls: Controls) -> str | None:
    return controls.coordinator if controls.is_loaded else None


async def _advance(controls: Controls, said: Said) -> Answer:
    await controls.advance(said["seconds"])
    return {"now_ms": controls.now_ms}


async def _create_topic(controls: Controls, said: Said) -> Answer:
    controls.create_topic(said["name"], said["partitions"])
    return {"name": said["name"], "partitions": said["partitions"]}


async def _reset(controls: Controls, said: Said) -> Answer:
    await controls.reset()
    return {"bootstrap": controls.bootstrap}


_GROUP_ID = Field("group_id", "string", "the id of a group; all are meant if it is left out")
_ERROR = Field(
    "error", "string", "Kafka's name of an error", required=True,
    choices=tuple(sorted(name for name, code in ERROR_CODES.items() if code)),
)  # fmt: skip
_TIMES = Field("times", "integer", "how many", default=1, least=1, most=MOST_TIMES)
_APIS = tuple(sorted(FRAME_LIMITS))
_WHERE = {
    "coordinator": "the address of the broker that coordinates, or several with a comma between; null where "
    "none does"
}

OPERATIONS: Sequence[Operation] = (
    Operation(
        "health", "GET", "/health", "Whether the server answers, and where its clients find it.", _health,
        gives={"status": "ok", "bootstrap": "what clients take as bootstrap.servers", "now_ms": "its clock"},
    ),
    Operation(
        "groups", "GET", "/groups", "All groups, with everything that the coordinator knows of them.",
        _groups, (_GROUP_ID,), {"groups": "one object for each group", **_WHERE},
    ),
    Operation(
        "connections", "GET", "/connections", "The open connections on which something was asked.",
        _connections, gives={"connections": "each with its client's address, and the names that came on it"},
    ),
    Operation(
        "closeConnections", "POST", "/connections/close",
        "Closes connections at once, without an answer to what is in flight.", _drop,
        (Field("whose", "string", "an id of a client, a member or an instance, or HOST:PORT", True),),
        {"closed": "how many"},
    ),
    Operation(
        "faults", "GET", "/faults", "The faults that requests are still to meet.", _planned,
        gives={"faults": "the oldest first", "append_errors": "of the log's next answers"},
    ),
    Operation(
        "plan", "POST", "/faults",
        "The next requests of an API get an error, are delayed, are dropped, or have their answer cut.",
        _plan,
        (
            Field("api", "string", "Kafka's name of an API", True, choices=_APIS),
            Field("fault", "string", "error: it is answered so and has no other effect; delay: it is carried "
                  "out later; drop: it is neither carried out nor answered, its connection stays; cut: it is "
                  "carried out, and the connection ends amid the answer", True, choices=tuple(FaultKind)),
            Field("error", "string", "what a fault error says", choices=_ERROR.choices),
            Field("delay_ms", "integer", "how long a fault delay takes", least=0, most=MOST_DELAY_MS),
            Field("times", "integer", "how many requests meet it", default=1, least=1, most=MOST_TIMES),
            Field("client_id", "string", "only requests of this client; of all if it is left out"),
        ),
        {"api": "as asked", "fault": "as asked", "left": "how many requests are still to meet it"},
    ),
    Operation(
        "forgetFaults", "DELETE", "/faults", "No request, and no append, meets a fault any more.", _forget,
        gives={"forgotten": "how many were planned"},
    ),
    Operation(
        "failAppends", "POST", "/log/errors", "The log refuses the coordinator's next appends.",
        _fail_appends, (_ERROR, _TIMES), {"append_errors": "of the log's next answers"},
    ),
    Operation(
        "expireMember", "POST", "/members/expire",
        "The session of a member is over, as if it had been silent for so long.", _expire,
        (Field("member", "string", "its id, its group instance id, or its client's id", True), _GROUP_ID),
        {"member_id": "who it was"},
    ),
    Operation(
        "moveCoordinator", "POST", "/coordinator/move",
        "Another broker coordinates all groups, with what the log has. Where there is one broker, another "
        "one opens, and the next move goes back.", _move,
        (
            Field("node_id", "integer", "which broker; the next one if it is left out", least=1, most=1_000),
            Field("group_id", "string", "only groups in one partition of the log with this one move"),
        ),
        gives=_WHERE,
    ),
    Operation(
        "unloadCoordinator", "POST", "/coordinator/unload", "No broker coordinates, until one is loaded.",
        _unload, gives=_WHERE,
    ),
    Operation(
        "loadCoordinator", "POST", "/coordinator/load",
        "The broker that coordinated last does so again, with what the log has.", _load, gives=_WHERE,
    ),
    Operation(
        "advanceClock", "POST", "/clock/advance",
        "The server's clock is put forward; what is due by then happens, in its order, before the answer.",
        _advance, (Field("seconds", "number", "how far", True, least=0, most=MOST_SECONDS),),
        {"now_ms": "the server's clock then, milliseconds since 1970"},
    ),
    Operation(
        "createTopic", "POST", "/topics", "Makes a topic.", _create_topic,
        (
            Field("name", "string", "its name", True),
            Field("partitions", "integer", "how many it has", default=1, least=1, most=100_000),
        ),
        {"name": "as asked", "partitions": "as asked"},
    ),
    Operation(
        "reset", "POST", "/reset",
        "The server is as if it had just started, at the same address; its clock stays where it was put.",
        _reset, gives={"bootstrap": "where it is"},
    ),
)  # fmt: skip
"""All of them. What changes anything is POST or DELETE."""
