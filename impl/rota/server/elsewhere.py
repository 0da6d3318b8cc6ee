"""What only a coordinator answers, asked of a broker that is none for it: NOT_COORDINATOR.

A request may name several groups or transactions. Those that are coordinated elsewhere get the error, the
others what they get here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rota.server.answers import as_body
from rota.server.context import Answering, RequestContext
from rota.server.placement import Placement
from rota.server.refused import refused
from rota.wire import Bytes, decode_response
from rota.wire.error_codes import ERROR_CODES

Body = Mapping[str, Any]
Names = Sequence[str]

_NOT_COORDINATOR = ERROR_CODES["NOT_COORDINATOR"]

_OF_ONE_GROUP = frozenset(
    {
        "ConsumerGroupHeartbeat", "Heartbeat", "JoinGroup", "LeaveGroup", "OffsetCommit", "OffsetDelete",
        "SyncGroup", "TxnOffsetCommit",
    }
)  # fmt: skip
_OF_GROUPS = {
    "ConsumerGroupDescribe": ("group_ids", "groups"), "DeleteGroups": ("groups_names", "results"),
    "DescribeGroups": ("groups", "groups"), "OffsetFetch": ("groups", "groups"),
}  # fmt: skip
"""APIs of several groups: the array in the request, and in the response."""

_OF_ONE_TRANSACTION = frozenset({"AddOffsetsToTxn", "EndTxn", "InitProducerId"})
_SEVERAL_GROUPS_SINCE = 8
_FROM_BROKERS_SINCE = 4
"""First AddPartitionsToTxn version that only brokers send, whom it does not matter here who is asked."""

_LISTED = {"ListGroups": "groups", "ListTransactions": "transaction_states"}
"""APIs that list what a broker coordinates: the array in the response."""

_NO_ARRAYS = ("", "")
_ID = ("group_id", "transactional_id")


class Elsewhere:
    """Takes from the server what is asked of the wrong broker."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    def local(self, body: Body, context: RequestContext) -> Body | None:
        """What of a request is to be done here; None if it is answered already."""
        name, node_id = context.api_name, context.endpoint.node_id
        if name in _LISTED:
            context.answer_by(Changed(context, lambda told: self._listed(name, told, node_id)))
            return body
        found = self._named(name, context.version, body)
        if found is None:
            return body
        names, is_here, arrays = found
        there = [each for each in names if not is_here(each, node_id)]
        if not there:
            return body
        if len(there) == len(names):
            context.reply(refused(name, context.version, body, _NOT_COORDINATOR))
            return None
        asked, answered = arrays
        elsewhere = [each for each in body[asked] if _id_of(each) in there]
        rest = refused(name, context.version, {**body, asked: elsewhere}, _NOT_COORDINATOR)[answered]
        order = {each: index for index, each in enumerate(names)}
        context.answer_by(Changed(context, lambda told: _together(told, answered, rest, order)))
        return {**body, asked: [each for each in body[asked] if _id_of(each) not in there]}

    def _named(
        self, name: str, version: int, body: Body
    ) -> tuple[Names, Callable[[str, int], bool], tuple[str, str]] | None:
        """Whom a request names, who says if they are here, and the arrays they are in; None for nobody."""
        if name in _OF_ONE_GROUP or (name == "OffsetFetch" and version < _SEVERAL_GROUPS_SINCE):
            return [body["group_id"]], self._has_group, _NO_ARRAYS
        if name in _OF_GROUPS:
            arrays = _OF_GROUPS[name]
            return [_id_of(each) for each in body[arrays[0]]], self._has_group, arrays
        if name == "DescribeTransactions":
            return (
                body["transactional_ids"],
                self._has_transaction,
                ("transactional_ids", "transaction_states"),
            )
        if name == "AddPartitionsToTxn" and version < _FROM_BROKERS_SINCE:
            return [body["v3_and_below_transactional_id"]], self._has_transaction, _NO_ARRAYS
        if name in _OF_ONE_TRANSACTION and body["transactional_id"] is not None:
            return [body["transactional_id"]], self._has_transaction, _NO_ARRAYS
        return None

    def _has_group(self, group_id: str, node_id: int) -> bool:
        return self._placement.is_loaded and self._placement.of_group(group_id) == node_id

    def _has_transaction(self, transactional_id: str, node_id: int) -> bool:
        return self._placement.of_transaction(transactional_id) == node_id

    def _listed(self, name: str, told: dict[str, Any], node_id: int) -> dict[str, Any]:
        """The groups or transactions that this node coordinates."""
        array = _LISTED[name]
        is_here = self._has_group if name == "ListGroups" else self._has_transaction
        return {**told, array: [each for each in told.get(array, ()) if is_here(_id_of(each), node_id)]}


class Changed:
    """The connection of a request whose answer is changed on its way. As of `Answering`."""

    def __init__(self, context: RequestContext, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._name, self._version = context.api_name, context.version
        self._connection: Answering = context.connection
        self._correlation_id = context.correlation_id
        self._change = change
        self.client_host = context.client_host
        self.endpoint = context.endpoint

    @property
    def is_there(self) -> bool:
        """Of the connection."""
        return self._connection.is_there

    def answer(self, name: str, version: int, body: Body, correlation_id: int) -> None:
        """The response, changed."""
        self._connection.answer(name, version, self._change(dict(body)), correlation_id)

    def answer_with(self, name: str, version: int, reply: object, correlation_id: int) -> None:
        """The response, changed."""
        self.answer(name, version, as_body(reply), correlation_id)

    def answer_in_pieces(self, pieces: Sequence[Bytes], held: int) -> None:
        """The response, read again and changed: only admin clients ask for so much."""
        body = decode_response(self._name, self._version, b"".join(pieces)).body
        self.answer(self._name, self._version, body, self._correlation_id)

    def ended(self, context: RequestContext) -> None:
        """Of the connection."""
        self._connection.ended(context)

    def dropped(self, context: RequestContext) -> None:
        """Of the connection."""
        self._connection.dropped(context)

    def close(self, reason: str = "") -> None:
        """Of the connection."""
        self._connection.close(reason)


def _together(
    told: dict[str, Any], array: str, rest: Sequence[Body], order: Mapping[str, int]
) -> dict[str, Any]:
    """Both in the order in which they were asked for."""
    both: Iterator[Body] = iter((*told[array], *rest))
    return {**told, array: sorted(both, key=lambda each: order[_id_of(each)])}


def _id_of(entry: Any) -> str:
    """A group's or transaction's id, of what has one or is one."""
    return entry if isinstance(entry, str) else str(next(entry[name] for name in _ID if name in entry))
