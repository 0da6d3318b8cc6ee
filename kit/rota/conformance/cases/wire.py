"""Requests as bytes: versions nobody has, fields nobody knows, several requests at once."""

from __future__ import annotations

from rota.conformance.connections.connection import Closed
from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.unreadable_versions import unreadable_versions
from rota.conformance.steps.group_formation import stable


@case(
    "wire.api-versions-fallback",
    "ApiVersions of a version that is too new is answered in the form of version 0 with UNSUPPORTED_VERSION.",
    "KIP-511",
)
def api_versions_too_new(d: Dialogue) -> None:
    connection = d.connect("a")
    line = d.transcript.add("a", "→", "ApiVersions v99")
    client = {"client_software_name": "rota", "client_software_version": "1"}
    asked = connection.send_too_new("ApiVersions", 99, client)
    d.transcript.carried(line, asked.data)
    answer = connection.receive(asked, PROMPTLY)
    actual = "no answer" if answer is None else error_name(answer.body["error_code"])
    d.transcript.add("a", "←", f"ApiVersions  {actual}", b"" if answer is None else answer.data)
    d.require(actual == "UNSUPPORTED_VERSION", "UNSUPPORTED_VERSION in the form of version 0", actual)


@case(
    "wire.advertised-versions",
    "Every version that ApiVersions names is read and answered in that version's form.",
    "KIP-35; the message schemas",
)
def advertised_versions(d: Dialogue) -> None:
    unreadable = unreadable_versions(d.address, PROMPTLY)
    actual = [f"{api} v{version}: {why}" for api in unreadable for version, why in unreadable[api].items()]
    for remark in actual or ["every advertised version of the group's requests is answered"]:
        d.remark(remark)
    d.require(not unreadable, "an answer in every advertised version", "; ".join(actual))


@case(
    "wire.version-out-of-range",
    "A request of a version that is not advertised is not answered; the connection is closed.",
    "RequestContext.parseRequest",
    level=Level.SHOULD,
)
def version_out_of_range(d: Dialogue) -> None:
    connection = d.connect("a")
    line = d.transcript.add("a", "→", "JoinGroup v99")
    newcomer = {"group_id": d.group_id, "session_timeout_ms": 6000, "protocol_type": "consumer"}
    asked = connection.send_too_new("JoinGroup", 99, newcomer)
    d.transcript.carried(line, asked.data)
    try:
        answer = connection.receive(asked, PROMPTLY)
    except Closed:
        d.transcript.add("a", "×", "closed, as it should be")
        return
    actual = "no answer and an open connection"
    if answer is not None:
        actual = error_name(answer.body["error_code"])
        d.transcript.add("a", "←", f"JoinGroup  {actual}", answer.data)
    d.require(False, "a closed connection", actual)


@case(
    "wire.unknown-tags",
    "A tagged field that the coordinator does not know is skipped.",
    "KIP-482",
    needs={"Heartbeat": (4, 4)},
)
def unknown_tags(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.heartbeat(_tags={9999: b"unknown"}), error="NONE")


@case(
    "wire.one-after-the-other",
    "Requests that were sent together on one connection are answered one by one, in their order.",
    "SocketServer (one request of a connection at a time)",
)
def pipelined(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    identity = {"member_id": a.member_id, "generation_id": a.generation_id}
    first = a.send("Heartbeat", identity)
    second = a.send("Heartbeat", {**identity, "generation_id": a.generation_id + 1})
    third = a.send("Heartbeat", identity)
    d.expect(first.answer(PROMPTLY), error="NONE")
    d.expect(second.answer(PROMPTLY), error="ILLEGAL_GENERATION")
    d.expect(third.answer(PROMPTLY), error="NONE")
