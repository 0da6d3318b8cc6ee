"""Why something of a group is not judged, or cannot be said, in words."""

from __future__ import annotations

BEFORE = "what came before the group's state was told: a join phase all of whose members were seen"
AFTER = "what came after a violation, until the group's state was told again"
MOVING = "what came while the coordinator moved or loaded, until the group's state was told again"
UNTOLD = (
    "what came after its members alone were told, and rests on more, until the group's state was told again"
)
UNSEEN = "what is told of members whose requests are not in this source"
DELETED = "offsets were deleted, and which are left is not known: the group may have expired with the last"
OFFSETS = "offsets that were asked for, where what was committed before is not known"
ASSIGNMENTS = "descriptions of a group before its first assignment that was seen"
UNDER_WAY = "requests that were under way when the group's state was told"
REFUSED = "requests that were refused before a coordinator was asked"
RESTARTED = "all connections of the group ended at once: the coordinator may have been started anew"

SEVERAL = "frames of several recorders, whose clocks may differ: no order of them explains what was seen"
