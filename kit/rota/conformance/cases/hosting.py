"""Who coordinates a group: FindCoordinator."""

from __future__ import annotations

from rota.conformance.connections.error_codes import error_name
from rota.conformance.connections.security import beside
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.restarts import reconnect
from rota.wire.error_codes import ERROR_CODES

_FIND = "KafkaApis.handleFindCoordinatorRequest"
_GROUP_KEY = 0


@case(
    "hosting.find-coordinator.one",
    "FindCoordinator names host and port of a broker that answers for the group.",
    _FIND,
    needs={"FindCoordinator": (0, 3)},
)
def one(d: Dialogue) -> None:
    a = d.member("a")
    reply = a.send_whole("FindCoordinator", {"key": d.group_id, "key_type": _GROUP_KEY}).answer(PROMPTLY)
    d.expect(reply, error="NONE")
    d.require(reply["node_id"] >= 0, "a node id", str(reply["node_id"]))
    _answers(d, reply["host"], reply["port"])


@case(
    "hosting.find-coordinator.several",
    "From version 4 FindCoordinator looks up several groups at a time, each with an error of its own.",
    f"KIP-699; {_FIND}",
    needs={"FindCoordinator": (4, 6)},
)
def several(d: Dialogue) -> None:
    keys = [d.group_id, f"{d.group_id}-other"]
    asked = {"key_type": _GROUP_KEY, "coordinator_keys": keys}
    found = d.member("a").send_whole("FindCoordinator", asked).answer(PROMPTLY)["coordinators"]
    actual = {each["key"]: error_name(each["error_code"]) for each in found}
    d.require(actual == dict.fromkeys(keys, "NONE"), "both groups, without error", f"{actual}")
    for each in found:
        _answers(d, each["host"], each["port"])


@case(
    "hosting.find-coordinator.any-group-id",
    "FindCoordinator does not look at the group id: even the empty one has a coordinator.",
    _FIND,
    level=Level.INFO,
    needs={"FindCoordinator": (0, 3)},
)
def any_group_id(d: Dialogue) -> None:
    reply = d.member("a").send_whole("FindCoordinator", {"key": "", "key_type": _GROUP_KEY}).answer(PROMPTLY)
    d.expect(reply, error="NONE")


@case(
    "hosting.find-coordinator.unknown-type",
    "An unknown key type is answered INVALID_REQUEST.",
    _FIND,
    level=Level.SHOULD,
    needs={"FindCoordinator": (1, 3)},
)
def unknown_type(d: Dialogue) -> None:
    reply = d.member("a").send_whole("FindCoordinator", {"key": d.group_id, "key_type": 77}).answer(PROMPTLY)
    d.expect(reply, error="INVALID_REQUEST")


def _answers(d: Dialogue, host: str, port: int) -> None:
    """What listens at the address answers as the coordinator of a group that does not exist."""
    nobody = {"group_id": f"{d.group_id}-no", "generation_id": 0, "member_id": "nobody"}
    finder = d.member("finder")
    d.remark(f"finder asks at {host}:{port}")
    reconnect(finder, beside(d.address, host, port))
    reply = finder.send_whole("Heartbeat", nobody).answer(PROMPTLY)
    actual = "no answer" if reply.answer is None else reply.error
    d.require(actual not in _NOT_THERE, "a coordinator at that address", actual)


_NOT_THERE = ("no answer", *(name for name in ERROR_CODES if name.startswith(("COORDINATOR_", "NOT_COORD"))))
