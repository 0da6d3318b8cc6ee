"""Member ids: `c1-2` is the second id of client c1.

A fresh id is the lowest that nobody refers to: neither the coordinator (members, pending ids) nor the client
(its own id, its requests and answers in flight). A real broker draws UUIDs, which never repeat; the lowest
unused number is as good and keeps the states finite. Only live data is looked at.
"""

from __future__ import annotations

from itertools import count

from rota.spec import Call, Group, JoinGroupRequest


def fresh_id(client: str, group: Group | None, held: tuple[str, ...]) -> str:
    """The id that a client's JoinGroup would be given."""
    known = set(held)
    if group is not None:
        # Of those who must still sync some may be former ids of static members.
        known |= {*group.members, *group.pending, *group.pending_sync}
    for n in count(1):
        if (name := f"{client}-{n}") not in known:
            break
    return name


def is_newcomer(call: Call) -> bool:
    """Whether a request may be given a new id."""
    return isinstance(call.request, JoinGroupRequest) and not call.request.member_id


def owner(member_id: str) -> str:
    """The client that an id was minted for."""
    return member_id.rpartition("-")[0]
