"""What a request is told by a broker that is not the coordinator, in which order, and who says who is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.kernel import FrozenMap
from rota.spec import (
    PROFILES,
    Call,
    CoordinatorOf,
    ErrorCode,
    FindCoordinatorReply,
    FindCoordinatorRequest,
    Group,
    GroupState,
    HeartbeatReply,
    HeartbeatRequest,
    Hosting,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    LeaveGroupRequest,
    LeavingMember,
    Member,
    Node,
    ProtocolMetadata,
    SyncGroupReply,
    SyncGroupRequest,
    classic,
)
from rota.spec.handlers import HANDLERS
from rota.spec.hosting import REFUSALS
from rota.spec.messages import ReplyMessage, Request

RANGE = (ProtocolMetadata("range"),)
STABLE = Group(
    state=GroupState.STABLE,
    generation_id=3,
    protocol_type="consumer",
    protocol_name="range",
    leader="m",
    members=FrozenMap({"m": Member(60_000, 10_000, RANGE)}),
)


def requests(group_id: str = "g", session_ms: int = 10_000) -> dict[str, tuple[Request, int]]:
    """Each kind of request, and the version that the test speaks."""
    return {
        "JoinGroup": (JoinGroupRequest(group_id, session_ms, 60_000, "m", "consumer", RANGE), 9),
        "SyncGroup": (SyncGroupRequest(group_id, 3, "m", (), "consumer", "range"), 5),
        "Heartbeat": (HeartbeatRequest(group_id, 3, "m"), 4),
        "LeaveGroup": (LeaveGroupRequest(group_id, (LeavingMember("m"),)), 5),
    }


def told(kind: str, hosting: Hosting, profile: str = "kafka-4.x", **other: object) -> ReplyMessage:
    """What a broker that is this to the group answers; the group and the timers stay as they are."""
    request, version = requests(**other)[kind]  # type: ignore[arg-type]
    spec = classic(profile=PROFILES[profile])
    (step,) = spec.handle(STABLE, Call(request, "a", version, hosting=hosting))
    assert step.group is STABLE
    assert not step.timers
    assert not step.records
    (reply,) = step.replies
    assert reply.to == "a"
    return reply.message


@pytest.mark.parametrize("profile", PROFILES)
def test_a_coordinator_that_does_not_run_says_so(profile: str) -> None:
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert told("JoinGroup", Hosting.INACTIVE, profile) == JoinGroupReply(error, member_id="m")
    assert told("SyncGroup", Hosting.INACTIVE, profile) == SyncGroupReply(error)
    assert told("Heartbeat", Hosting.INACTIVE, profile) == HeartbeatReply(error)
    assert told("LeaveGroup", Hosting.INACTIVE, profile) == LeaveGroupReply(error)


def test_another_broker_sends_clients_away() -> None:
    error = ErrorCode.NOT_COORDINATOR
    assert told("SyncGroup", Hosting.ELSEWHERE) == SyncGroupReply(error)
    assert told("Heartbeat", Hosting.ELSEWHERE) == HeartbeatReply(error)
    assert told("LeaveGroup", Hosting.ELSEWHERE) == LeaveGroupReply(error)


def test_while_loading_each_request_is_told_in_its_own_way() -> None:
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert told("SyncGroup", Hosting.LOADING) == SyncGroupReply(error)
    assert told("SyncGroup", Hosting.LOADING, "kafka-3.x") == SyncGroupReply(ErrorCode.REBALANCE_IN_PROGRESS)
    assert told("Heartbeat", Hosting.LOADING) == HeartbeatReply(ErrorCode.NONE)
    assert told("LeaveGroup", Hosting.LOADING) == LeaveGroupReply(error)


@pytest.mark.parametrize(("profile", "member_id"), [("kafka-4.x", ""), ("kafka-3.x", "m")])
def test_only_the_scala_coordinator_gives_a_join_its_id_back(profile: str, member_id: str) -> None:
    for hosting, error in (
        (Hosting.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (Hosting.ELSEWHERE, ErrorCode.NOT_COORDINATOR),
    ):
        assert told("JoinGroup", hosting, profile) == JoinGroupReply(error, member_id=member_id)


@pytest.mark.parametrize("kind", requests())
def test_a_coordinator_that_does_not_run_and_an_empty_group_id(kind: str) -> None:
    """The Java coordinator looks first whether it runs, the Scala one at the group id."""
    java = told(kind, Hosting.INACTIVE, "kafka-4.x", group_id="")
    scala = told(kind, Hosting.INACTIVE, "kafka-3.x", group_id="")
    assert java.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scala.error_code is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("hosting", [Hosting.LOADING, Hosting.ELSEWHERE])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", requests())
def test_an_empty_group_id_is_nowhere(kind: str, profile: str, hosting: Hosting) -> None:
    assert told(kind, hosting, profile, group_id="").error_code is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("hosting", [Hosting.LOADING, Hosting.ELSEWHERE])
def test_a_bad_session_timeout_is_told_first_by_the_java_coordinator_only(hosting: Hosting) -> None:
    java = told("JoinGroup", hosting, "kafka-4.x", session_ms=1)
    scala = told("JoinGroup", hosting, "kafka-3.x", session_ms=1)
    assert java == JoinGroupReply(ErrorCode.INVALID_SESSION_TIMEOUT, member_id="m")
    assert scala == told("JoinGroup", hosting, "kafka-3.x")


def test_protocol_of_a_sync_is_asked_for_before_all() -> None:
    """The API layer does it, before any coordinator has a say."""
    nameless = replace(SyncGroupRequest("g", 3, "m"), protocol_type=None)
    (step,) = classic().handle(STABLE, Call(nameless, "a", 5, hosting=Hosting.INACTIVE))
    assert step.replies[0].message == SyncGroupReply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def test_every_request_but_one_asks_for_the_coordinator() -> None:
    """Whatever is handled is told of a wrong broker, in a way of its own. ListGroups asks each broker."""
    kinds = {name for name in HANDLERS if name.endswith("Request")}
    assert {kind.__name__ for kind in REFUSALS} == kinds - {"FindCoordinatorRequest"}
    for name in kinds - {"FindCoordinatorRequest"}:
        asked = [slug for slug in HANDLERS[name] if slug.startswith("hosting.")]
        wrong_broker = [] if name == "ListGroupsRequest" else ["hosting.elsewhere"]
        assert asked == ["hosting.inactive", "hosting.loading", *wrong_broker], name


def found(leader: Node | None, *keys: str, key_type: int = 0, hosting: Hosting = Hosting.ELSEWHERE) -> object:
    request = FindCoordinatorRequest(keys, key_type)
    (step,) = classic().handle(STABLE, Call(request, "a", 4, hosting=hosting, leader=leader))
    assert step.group is STABLE
    return step.replies[0].message


@pytest.mark.parametrize("hosting", Hosting)
def test_any_broker_says_who_the_coordinator_is(hosting: Hosting) -> None:
    """Also of the empty group id, which is not looked at."""
    node = Node(2, "b2", 9092)
    lines = tuple(CoordinatorOf(key, ErrorCode.NONE, node) for key in ("g", ""))
    assert found(node, "g", "", hosting=hosting) == FindCoordinatorReply(lines)


def test_without_a_leader_there_is_nobody() -> None:
    nobody = CoordinatorOf("g", ErrorCode.COORDINATOR_NOT_AVAILABLE, Node(-1, "", -1))
    assert found(None, "g") == FindCoordinatorReply((nobody,))
    assert FindCoordinatorReply((nobody,)).error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_share_groups_have_no_coordinator_here() -> None:
    nobody = CoordinatorOf("g", ErrorCode.INVALID_REQUEST)
    assert found(Node(2, "b2", 9092), "g", key_type=2) == FindCoordinatorReply((nobody,))
