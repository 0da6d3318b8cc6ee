"""Steps of cases that were written from walks of the consumer protocol.

What a member was told, its epoch and its partitions, is asked for by the numbers of its heartbeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import Dialogue, Reply
from rota.conformance.steps import walked
from rota.conformance.steps.consumer_topics import Place, by_topic, places_in

FOREIGN: Place = (UUID(int=7), 0)
"""A partition of a topic that never was."""

LEAST, GREATEST = -(2**31), 2**31 - 1


class ConsumerWalk(walked.Walk):
    """The requests of such a walk."""

    def __init__(self, dialogue: Dialogue) -> None:
        super().__init__(dialogue)
        self._names = dialogue.transcript.topics

    def named(self, name: str) -> str:
        """A name in which the group's id stands for `*`."""
        return name.replace("*", self._dialogue.group_id)

    def epoch_of(self, *by: int, ahead: int = 0) -> int:
        """The epoch that a member was told last in answers to these heartbeats, or one so far ahead."""
        told = [reply["member_epoch"] for reply in self._granted(by)]
        return max(LEAST, min((told[-1] if told else 0) + ahead, GREATEST))

    def owned(self, word: str, *by: int) -> list[dict[str, Any]]:
        """Partitions of a member that was answered so, as a request has them.

        word: "assigned", what it was told last; "held", that and what it was told before; "part", all but the
        last; "one", the first; "nothing"; "foreign", what was assigned and a partition that never was.
        """
        told = [places_in(given) for reply in self._granted(by) if (given := reply["assignment"]) is not None]
        assigned = told[-1] if told else frozenset()
        before = told[-2] if len(told) > 1 else frozenset()
        return by_topic(
            {
                "assigned": assigned,
                "held": assigned | before,
                "part": frozenset(_in_order(assigned)[:-1]),
                "one": frozenset(_in_order(assigned)[:1]),
                "nothing": frozenset(),
                "foreign": assigned | {FOREIGN},
            }[word]
        )

    def _granted(self, by: Iterable[int]) -> Iterable[Reply]:
        """The answers without an error."""
        found = (self._answers.get(number) for number in by)
        return (one for one in found if one is not None and one["error_code"] == 0)

    def _said(self, reply: Reply) -> Mapping[str, Any]:
        body: Any = reply.body
        match reply.request.api:
            case "CreateTopics" | "CreatePartitions" | "DeleteTopics":
                (found,) = body.get("topics") or body.get("results") or body.get("responses")
                if found.get("topic_id") and not found["error_code"]:
                    self._names.setdefault(found["topic_id"], found["name"])
                return {"error": error_name(found["error_code"])}
            case "ConsumerGroupHeartbeat" if not body["error_code"]:
                given = body["assignment"]
                told = None if given is None else self._places(given)
                return {"error": "NONE", "member_epoch": body["member_epoch"], "assignment": told}
            case "ConsumerGroupDescribe":
                return self._described(body["groups"][0])
            case "ListGroups":
                return self._listed(body)
            case "DescribeGroups":
                return {"error": error_name(body["groups"][0]["error_code"])}
            case "JoinGroup" | "SyncGroup" | "ConsumerGroupHeartbeat":
                return {"error": error_name(body["error_code"])}
        return super()._said(reply)

    def _places(self, given: Any) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for one in given["topic_partitions"]:
            name = self._names.get(one["topic_id"], str(one["topic_id"]))
            found.setdefault(name, []).extend(one["partitions"])
        return {name: sorted(found[name]) for name in sorted(found)}

    def _described(self, group: Any) -> dict[str, Any]:
        said: dict[str, Any] = {"error": error_name(group["error_code"])}
        members = {
            one["member_id"]: {
                "epoch": one["member_epoch"],
                "assignment": self._places(one["assignment"]),
                "target": self._places(one["target_assignment"]),
            }
            for one in group["members"]
        }
        epochs = {"group_epoch": group["group_epoch"], "assignment_epoch": group["assignment_epoch"]}
        named = {"state": group["group_state"], "assignor": group["assignor_name"]}
        return {**said, **epochs, **named, "members": members}

    def _listed(self, body: Any) -> dict[str, Any]:
        mine = [one for one in body["groups"] if one["group_id"] == self._dialogue.group_id]
        said = {"error": error_name(body["error_code"]), "listed": bool(mine)}
        for one in mine:
            said |= {"state": one.get("group_state"), "type": one.get("group_type")}
        return said


def _in_order(places: Iterable[Place]) -> list[Place]:
    """As a plan has them in order, by the topics' ids."""
    return sorted(places, key=lambda one: (str(one[0]), one[1]))
