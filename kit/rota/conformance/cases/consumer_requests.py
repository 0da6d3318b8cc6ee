"""What a ConsumerGroupHeartbeat has to say, checked before anything about its group is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.steps.consumer import JOIN, LEAVE, MINUTE, Consumer, expect_described, joined
from rota.conformance.steps.consumer_case import rule_case

_CHECKS = "GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid"

_NEWEST = {"ConsumerGroupHeartbeat": (1, 1)}
_FIRST = {"ConsumerGroupHeartbeat": (0, 0)}

_TOPIC = "rota-nowhere"
"""A topic that nobody makes: what is checked here is checked before topics are looked at."""


def _refused(d: Dialogue, epoch: int, error: str = "INVALID_REQUEST", **said: Any) -> None:
    """Hold a heartbeat of nobody in particular against the rule, and that it leaves no group."""
    d.expect(Consumer(d, "a").ask(epoch, **said), error=error)
    expect_described(d, "GROUP_ID_NOT_FOUND")


def _joining(**said: Any) -> dict[str, Any]:
    """What a member says that joins, with something else in it; None leaves something out."""
    whole = {"timeout": MINUTE, "topics": (_TOPIC,), "owns": (), **said}
    return {word: value for word, value in whole.items() if value is not None}


@rule_case(
    "membership.no-member-id.joining",
    "From version 1 on a member brings its own id: a first heartbeat without one is INVALID_REQUEST.",
    f"KIP-848; KIP-1082; {_CHECKS}",
    needs=_NEWEST,
    topics=False,
)
def joins_without_id(d: Dialogue) -> None:
    _refused(d, JOIN, **_joining(member_id=""))


@rule_case(
    "membership.no-member-id.blank",
    "A member id of blanks is none: the heartbeat is INVALID_REQUEST, at an epoch as well as joining.",
    _CHECKS,
    needs=_NEWEST,
    topics=False,
)
def blank_member_id(d: Dialogue) -> None:
    _refused(d, 5, member_id=" ")
    _refused(d, JOIN, **_joining(member_id=" "))


@rule_case(
    "membership.no-member-id.older-at-an-epoch",
    "In version 0, too, who is in a group or leaves it names itself: without an id that is INVALID_REQUEST.",
    _CHECKS,
    needs=_FIRST,
    topics=False,
)
def older_without_id(d: Dialogue) -> None:
    _refused(d, 5, member_id="")
    _refused(d, LEAVE, member_id="")


@rule_case(
    "membership.no-group-id.blank",
    "A heartbeat with a blank group id is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def blank_group_id(d: Dialogue) -> None:
    for blank in ("", "  "):
        _refused(d, JOIN, **_joining(group=blank))


@rule_case(
    "membership.blank-instance-or-rack.instance",
    "An instance id that is given is not blank, else the heartbeat is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def blank_instance(d: Dialogue) -> None:
    for blank in ("", " "):
        _refused(d, JOIN, **_joining(instance=blank))


@rule_case(
    "membership.blank-instance-or-rack.rack",
    "A rack that is given is not blank, else the heartbeat is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def blank_rack(d: Dialogue) -> None:
    for blank in ("", " "):
        _refused(d, JOIN, **_joining(rack=blank))


@rule_case(
    "membership.first-without-timeout.joining",
    "Who joins names a rebalance timeout; without it the heartbeat is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def without_timeout(d: Dialogue) -> None:
    _refused(d, JOIN, **_joining(timeout=None))


@rule_case(
    "membership.first-with-partitions.some",
    "Who joins owns nothing; one that names partitions is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def with_partitions(d: Dialogue) -> None:
    _refused(d, JOIN, **_joining(owns=((UUID(int=77), 0),)))


@rule_case(
    "membership.first-with-partitions.unsaid",
    "Who joins says that it owns nothing; one that says nothing of it is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def without_partitions(d: Dialogue) -> None:
    _refused(d, JOIN, **_joining(owns=None))


@rule_case(
    "membership.first-without-subscription.joining",
    "Who joins says what it subscribes to; without that the heartbeat is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def without_subscription(d: Dialogue) -> None:
    _refused(d, JOIN, **_joining(topics=None))


@rule_case(
    "membership.epoch-of-nobody.below",
    "An epoch below -2 is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def epoch_below(d: Dialogue) -> None:
    for epoch in (-3, -(2**31)):
        _refused(d, epoch)


@rule_case(
    "membership.epoch-of-nobody.static-only",
    "Epoch -2 is for static members: of a member without an instance id it is INVALID_REQUEST.",
    _CHECKS,
    topics=False,
)
def epoch_of_static_members(d: Dialogue) -> None:
    _refused(d, -2)


@rule_case(
    "membership.epoch-of-nobody.changes-nothing",
    "A member that asks with such an epoch stays in its group.",
    _CHECKS,
    topics=False,
)
def refused_member_stays(d: Dialogue) -> None:
    a = joined(d, "a", _TOPIC)
    for epoch in (-3, -2):
        d.expect(a.ask(epoch), error="INVALID_REQUEST")
    d.expect(a.ask(a.epoch), error="NONE", member_epoch=a.epoch)


@rule_case(
    "target.unknown-assignor.joining",
    "A wish for an assignor that the broker does not have is UNSUPPORTED_ASSIGNOR, and makes no group.",
    f"KIP-848; {_CHECKS}",
    topics=False,
)
def unknown_assignor(d: Dialogue) -> None:
    for name in ("nonsense", "Range", ""):
        _refused(d, JOIN, "UNSUPPORTED_ASSIGNOR", **_joining(assignor=name))


@rule_case(
    "target.unknown-assignor.leaving",
    "Such a wish is refused at any epoch, also of who leaves, and the member stays.",
    _CHECKS,
    topics=False,
)
def unknown_assignor_leaving(d: Dialogue) -> None:
    a = joined(d, "a", _TOPIC)
    for epoch in (LEAVE, a.epoch, 77):
        d.expect(a.ask(epoch, assignor="nonsense"), error="UNSUPPORTED_ASSIGNOR")
    d.expect(a.ask(a.epoch), error="NONE", member_epoch=a.epoch)


@rule_case(
    "target.unknown-assignor.of-a-static-member",
    "Such a wish is refused before anything else that a member says is used: an instance id, an expression.",
    _CHECKS,
    needs=_NEWEST,
    topics=False,
)
def unknown_assignor_first(d: Dialogue) -> None:
    for said in ({"instance": "i"}, {"regex": "rota-.*"}):
        _refused(d, JOIN, "UNSUPPORTED_ASSIGNOR", **_joining(assignor="nonsense", **said))
