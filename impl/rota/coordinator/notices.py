"""What is worth a line in a broker's log: a step's notices, in the order in which things happened.

They are facts; the words are the server's. None is made where nothing changes, so heartbeats and commits have
none; but for who is refused because the group is full, of which Kafka's log has no word: nothing else tells
operators who it was.
"""

from typing import Literal, NamedTuple

Event = Literal[
    "preparing",
    "stabilized",
    "assignment",
    "empty",
    "id_given",
    "joined",
    "joined_with_id",
    "replaced",
    "failed",
    "not_returned",
    "left",
    "pending_left",
    "not_joined",
    "not_synced",
    "refused",
    "refused_member",
    "loading",
    "unloading",
    "member_joins",
    "member_left",
    "member_fenced",
    "members_removed",
    "member_refused",
    "target",
]
"""What happened to a group or to a member of it.

preparing, stabilized: a rebalance begins, a join phase ends with a generation. assignment: the leader's
SyncGroup has come. empty: a join phase ends with nobody. id_given: a dynamic member has to come back with its
id. joined: a member that had no id. joined_with_id: one that had been given its own before. replaced: a
static member takes the place of `old_member_id`. failed: a session has expired. not_returned: nobody came
back with an id that was given. left, pending_left: by a LeaveGroup. not_joined, not_synced: `removed` were
late in a phase. refused, refused_member: who comes without an id, or with one, finds the group full. loading,
unloading: this broker begins or ceases to coordinate the group.

The others are about groups of the consumer protocol, whose generation is their epoch. member_joins,
member_left: by a heartbeat. member_fenced: removed by a timer. members_removed: by a LeaveGroup.
member_refused: who joins finds the group full. target: a new one, made by the assignor that `reason` names.
"""


class Notice(NamedTuple):
    """An event, and the group as it was at that moment; from `member_id` on what means something for it.

    `reason` is why a rebalance begins, or what the client gave as its reason; `client_id` who it is, where no
    member id tells.
    """

    event: Event
    group_id: str
    state: str
    generation_id: int
    members: int
    static_members: int
    member_id: str = ""
    group_instance_id: str | None = None
    old_member_id: str = ""
    removed: tuple[str, ...] = ()
    reason: str = ""
    client_id: str = ""
