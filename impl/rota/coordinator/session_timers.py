"""The one timer of every member, armed and cancelled here: what its end means is in `timers`.

It is new_member while the member is parked for the first time, session from then on. A member that heartbeats
while it is new (it can, with generation 0) has only its session timeout left, as in the broker.
"""

from typing import Literal

from rota.coordinator.effects import Arm, TimerId
from rota.coordinator.group import Group, Member
from rota.coordinator.step import Step


def restart_session(step: Step, group: Group, member: Member) -> None:
    """Give the member a full session timeout from now on."""
    kind: Literal["session", "new_member"] = "new_member" if member.is_new else "session"
    if member.timer != kind:
        stop_timer(step, group, member)
        member.timer = kind
    if member.is_new:
        step.arm(kind, group.group_id, member.session_timeout_ms, member.member_id)
        return
    armed = member.session
    if armed is None or armed.delay_ms != member.session_timeout_ms:
        armed = member.session = Arm(
            TimerId(kind, group.group_id, member.member_id), member.session_timeout_ms
        )
    step.arm_again(armed)


def start_new_member_timer(step: Step, group: Group, member: Member) -> None:
    """Limit how long a new member stays parked: its session does not count yet, since it can't heartbeat."""
    member.timer = "new_member"
    step.arm("new_member", group.group_id, step.config.new_member_join_timeout_ms, member.member_id)


def stop_timer(step: Step, group: Group, member: Member) -> None:
    """Cancel the timer of a member that goes, or that is about to have one of another kind."""
    if member.timer == "session" and member.session is not None:
        step.cancel_again(member.session)
    elif member.timer is not None:
        step.cancel(member.timer, group.group_id, member.member_id)
