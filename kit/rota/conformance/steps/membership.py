"""Steps of members: static ones, those with an id that is not in use, those that are removed by others."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from rota.conformance.dialogues.broker_settings import MIN_SESSION
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member, PendingRequest, Reply
from rota.conformance.dialogues.failures import Late

SHORT_SESSIONS = {MIN_SESSION: 1000}
"""Settings for sessions as short as a second."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def static(d: Dialogue, name: str, instance: str, **settings: Any) -> Member:
    """A member with a group instance id."""
    return d.member(name, group_instance_id=instance, **settings)


def pending_member(d: Dialogue, name: str, **settings: Any) -> Member:
    """A pending member: it has been handed a member id and has not joined with it (KIP-394)."""
    member = d.member(name, **settings)
    with d.reaching(f"an id that was handed out to {name}"):
        d.expect(member.join(""), error="MEMBER_ID_REQUIRED")
    return member


def sent_in_time(request: PendingRequest, due: float) -> None:
    """Errors: Late for a JoinGroup that was sent too late, or will be, once there is an id for it."""

    def too_late(_: Reply) -> NoReturn:
        raise Late("an id was handed out when others had joined already")

    if (late := request.since - due) > 0.3:
        raise Late(f"a JoinGroup was sent {late:.1f} s late")
    if request.retry is not None:
        request.retry = too_late


def heartbeat_until_error(d: Dialogue, who: Member, seconds: float) -> str:
    """Heartbeats until they are answered with an error, or for so many seconds; the last answer."""
    since, error = d.transcript.elapsed(), "NONE"
    while error == "NONE" and d.transcript.elapsed() - since < seconds:
        d.wait(0.4)
        error = who.heartbeat().error
    return error


def leave_as(d: Dialogue, *identities: tuple[str, str | None]) -> Reply:
    """LeaveGroup, by someone else, of identities given as member id and instance id."""
    members = [{"member_id": member_id, "group_instance_id": instance} for member_id, instance in identities]
    return d.member("admin").send("LeaveGroup", {"members": members}).answer(PROMPTLY)


def form_of(member_id: str) -> str:
    """How a member id is made: the text with UUID in place of one."""
    return _UUID.sub("UUID", member_id)
