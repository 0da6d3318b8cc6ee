"""Steps of cases that were written from walks: requests by number, each in a version of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member, PendingRequest, Reply


class Walk:
    """The requests of a walk. What answers tell is asked for by the number of the request."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._members: dict[tuple[str, int], Member] = {}
        self._pending: dict[int, PendingRequest] = {}
        self._answers: dict[int, Reply] = {}

    def ask(self, number: int, client: str, line: int, api: str, version: int, body: dict[str, Any]) -> None:
        """Somebody sends a request on a connection; nobody waits for the answer."""
        dialogue, on = self._dialogue, (client, line)
        if on not in self._members:
            self._members[on] = dialogue.member(client)
        dialogue.versions = {**dialogue.versions, api: version}
        self._pending[number] = self._members[on].send_whole(api, body)

    def breaks(self, line: int) -> None:
        """A connection ends without ceremony."""
        for on in [on for on in self._members if on[1] == line]:
            self._members.pop(on).connection.abort()

    def id_of(self, number: int) -> str:
        """The member id that the answer to a request tells; a stranger's where it tells none."""
        return str(self._told(number, "member_id") or f"nobody-{number}")

    def generation_of(self, number: int, ahead: int = 0) -> int:
        """The generation that the answer to a request tells, or one that is so far ahead of it."""
        return int(self._told(number, "generation_id") or 0) + ahead

    def shares_of(self, number: int) -> list[dict[str, Any]]:
        """What a leader gives to each member that the answer to its request has told it of."""
        members = self._told(number, "members") or []
        return [
            {"member_id": one["member_id"], "assignment": f"share {n} of {len(members)}".encode()}
            for n, one in enumerate(members)
        ]

    def expect(self, number: int, **wanted: Any) -> None:
        """The answer is there, and says this."""
        self.expect_one_of(number, wanted)

    def expect_one_of(self, number: int, *wanted: Mapping[str, Any]) -> None:
        """The answer is there, and says one of these."""
        reply = self._pending.pop(number).answer(PROMPTLY)
        self._answers[number] = reply
        said = self._said(reply)
        actual = {name: said.get(name) for one in wanted for name in one}
        fits = any(all(said.get(name) == value for name, value in one.items()) for one in wanted)
        either = " or ".join(map(str, wanted))
        self._dialogue.require(fits, f"{reply.request.api} answered {either}", f"{actual}")

    def waits(self, number: int) -> None:
        """There is no answer yet."""
        self._pending[number].silent()

    def _said(self, reply: Reply) -> Mapping[str, Any]:
        return told(reply, self._dialogue.group_id)

    def _told(self, number: int, field: str) -> Any:
        reply = self._answers.get(number)
        return None if reply is None or reply.answer is None else reply.body.get(field)


def told(reply: Reply, group_id: str) -> dict[str, Any]:
    """What an answer says, without what differs each time: a flat dictionary."""
    api, body = reply.request.api, reply.body
    if api == "DescribeGroups":
        group = body["groups"][0]
        return {"error": error_name(group["error_code"]), "state": group["group_state"]}
    if api == "ListGroups":
        listed = [each for each in body["groups"] if each["group_id"] == group_id]
        return {"error": error_name(body["error_code"]), "listed": bool(listed)}
    if api == "DeleteGroups":
        return {"error": error_name(body["results"][0]["error_code"])}
    if api == "OffsetFetch":
        body = body["groups"][0] if "groups" in body else body
    said: dict[str, Any] = {"error": error_name(body.get("error_code", 0))}
    if api == "JoinGroup":
        said |= {"generation_id": body["generation_id"], "members": len(body["members"])}
    elif api == "SyncGroup":
        said |= {"assignment": body["assignment"]}
    elif api == "LeaveGroup":
        said |= {"members": [error_name(each["error_code"]) for each in body.get("members", ())]}
    elif api.startswith("Offset"):
        said |= {"partitions": _partitions(body)}
    return said


def _partitions(body: Any) -> dict[str, int | str]:
    """Each partition's offset, or its error where there is none."""
    return {
        f"{topic['name']}-{each['partition_index']}": each.get("committed_offset", 0)
        if each["error_code"] == 0
        else error_name(each["error_code"])
        for topic in body["topics"]
        for each in topic["partitions"]
    }
