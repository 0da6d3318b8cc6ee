"""Steps of an administrator: groups are described and deleted."""

from __future__ import annotations

from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import Dialogue, Reply


def describe(d: Dialogue, group_id: str | None = None, **fields: Any) -> Reply:
    """DescribeGroups, a moment later: what was just written may be described only once it is stored."""
    d.wait(0.3)
    groups = [d.group_id if group_id is None else group_id]
    return d.member("admin").send_whole("DescribeGroups", {"groups": groups, **fields}).answer()


def described(d: Dialogue, group_id: str | None = None) -> Any:
    """What DescribeGroups says of one group, which has to be without an error."""
    group = describe(d, group_id)["groups"].only()
    d.require(group["error_code"] == 0, "a description", error_name(group["error_code"]))
    return group


def delete(d: Dialogue, *group_ids: str) -> Reply:
    """DeleteGroups of the groups given, else of the dialogue's."""
    return (
        d.member("admin")
        .send_whole("DeleteGroups", {"groups_names": list(group_ids) or [d.group_id]})
        .answer()
    )


def expect_deleted(d: Dialogue, reply: Reply, *errors: str) -> None:
    """Hold the errors of an answer to DeleteGroups, which has no order, against the rule."""
    actual = sorted(error_name(result["error_code"]) for result in reply["results"])
    wanted = ", ".join(sorted(errors))
    d.require(
        actual == sorted(errors), f"DeleteGroups answered with {wanted}", ", ".join(actual) or "nothing"
    )
