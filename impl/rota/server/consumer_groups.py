"""ConsumerGroupHeartbeat and ConsumerGroupDescribe between the wire and the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rota.coordinator import Effects, GroupCoordinator
from rota.coordinator.consumer.messages import ConsumerGroupHeartbeat, TopicPartitions
from rota.server.answers import LongAnswer, as_body
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode
from rota.server.group_admin import ALL_OPERATIONS
from rota.server.offset_bodies import Amended

Body = Mapping[str, Any]


class ConsumerGroups:
    """Handlers; `do` carries out what a step of the core asks for."""

    def __init__(self, core: GroupCoordinator, do: Callable[[Effects], None]) -> None:
        self._core = core
        self._do = do

    def heartbeat(self, body: Body, context: RequestContext) -> None:
        """ConsumerGroupHeartbeat."""
        self._do(
            self._core.consumer_group_heartbeat(
                _request(body),
                context.version,
                context.client_id,
                context.client_host,
                Amended(context, _response),
            )
        )

    def describe(self, body: Body, context: RequestContext) -> Iterator[None]:
        """ConsumerGroupDescribe. A group that the answer has no room for gets an error, to be asked again."""
        operations = body["include_authorized_operations"]
        answer = LongAnswer(context, "groups", {})
        for group_id in body["group_ids"]:
            described = self._described(group_id, context.version, operations)
            yield
            data = yield from answer.encoded_in_steps([described])
            if not answer.has_room(len(data)):
                data = answer.encoded([_no_room(group_id)])
            answer.add(data)
            yield
        answer.send()

    def _described(self, group_id: str, version: int, operations: bool) -> dict[str, Any]:
        ((_, reply),) = self._core.consumer_group_describe([group_id], version, None).replies
        (described,) = as_body(reply)["groups"]
        for member in described["members"]:
            for name in ("assignment", "target_assignment"):
                member[name] = as_body(member[name])
        if operations and not described["error_code"]:
            described["authorized_operations"] = ALL_OPERATIONS
        return {**described}


def _request(body: Body) -> ConsumerGroupHeartbeat:
    names, owned = body["subscribed_topic_names"], body["topic_partitions"]
    return ConsumerGroupHeartbeat(
        group_id=body["group_id"],
        member_id=body["member_id"],
        member_epoch=body["member_epoch"],
        instance_id=body["instance_id"],
        rack_id=body["rack_id"],
        rebalance_timeout_ms=body["rebalance_timeout_ms"],
        subscribed_topic_names=None if names is None else tuple(names),
        subscribed_topic_regex=body.get("subscribed_topic_regex"),
        server_assignor=body["server_assignor"],
        topic_partitions=None
        if owned is None
        else tuple(TopicPartitions(each["topic_id"], tuple(each["partitions"])) for each in owned),
    )


def _response(reply: Body) -> Body:
    assignment = reply["assignment"]
    return reply if assignment is None else {**reply, "assignment": as_body(assignment)}


def _no_room(group_id: str) -> Body:
    text = "the answer has no room for more groups"
    return {
        "group_id": group_id,
        "error_code": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        "error_message": text,
    }
