"""Three brokers: whoever does not coordinate a group says so, and another takes over from one that ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member, PendingRequest
from rota.conformance.dialogues.registry import EITHER, Play, case, otherwise
from rota.conformance.dialogues.script import Level, Signal
from rota.conformance.steps.group_formation import lead_stable, stable
from rota.conformance.steps.offsets import (
    TOPIC,
    commit,
    expect_each,
    expect_fetched,
    topic,
)
from rota.conformance.steps.restarts import end_target, fail_over, reconnect, start_again
from rota.conformance.steps.version_ranges import COMMIT, DELETE, DESCRIBE, FETCH

BROKERS = 3

_ELSEWHERE = "CoordinatorRuntime, which answers NOT_COORDINATOR for a partition that it does not lead"
_FIND = "KafkaApis.handleFindCoordinatorRequest"
_GROUP_KEY = 0
_BROKERS = {"Metadata": (1, 7)}
"""Versions of Metadata in which all brokers are named, and topics by their names alone."""
_SESSION = {"session_timeout_ms": 300_000}

Address = tuple[str, int]


def cluster(id: str, requirement: str, source: str, **about: Any) -> Callable[[Play], Play]:
    """Register a dialogue with a cluster of three brokers; the parameters are those of `case`."""
    return case(id, requirement, source, brokers=BROKERS, **{"seconds": 5.0, **about})


def brokers(d: Dialogue) -> list[Address]:
    """All brokers of the cluster that are there, as Metadata names them: one may have been ended."""
    d.cold = True  # three brokers on one machine
    with d.reaching("several brokers"):
        found = d.member("finder").send_whole("Metadata", {"topics": []}).answer()["brokers"]
        d.require(len(found) > 1, "several brokers", str(len(found)))
    return [(each["host"], each["port"]) for each in found]


def moved_elsewhere(d: Dialogue, *members: Member) -> None:
    """Let the members ask a broker that does not coordinate the group."""
    other = next(address for address in brokers(d) if address != d.address)
    for member in members:
        reconnect(member, other)
    d.remark(f"{', '.join(member.name for member in members)} ask a broker that does not coordinate")


@cluster(
    "hosting.find-coordinator.same-from-all",
    "Every broker of a cluster names the same one as the coordinator of a group.",
    _FIND,
    needs={"FindCoordinator": (0, 3), **_BROKERS},
)
def same_from_all(d: Dialogue) -> None:
    a = d.member("a")
    named = []
    for address in brokers(d):
        reconnect(a, address)
        asked = a.send_whole("FindCoordinator", {"key": d.group_id, "key_type": _GROUP_KEY})
        reply = asked.answer(PROMPTLY)
        d.expect(reply, error="NONE")
        named.append((reply["host"], reply["port"]))
    d.require(len(set(named)) == 1, "one coordinator", f"{len(set(named))} of them")


def _refused(id: str, api: str, needs: Mapping[str, Any] | None = None) -> Callable[[Play], Play]:
    return cluster(
        f"hosting.elsewhere.{id}",
        f"A broker that does not coordinate the group answers {api} with NOT_COORDINATOR, "
        "also where the group has such a member.",
        _ELSEWHERE,
        needs={**_BROKERS, **(needs or {})},
    )


@_refused("join", "JoinGroup")
def join(d: Dialogue) -> None:
    d.expect(_member_elsewhere(d).join(within=PROMPTLY), error="NOT_COORDINATOR")


@_refused("sync", "SyncGroup")
def sync(d: Dialogue) -> None:
    d.expect(_member_elsewhere(d).sync(), error="NOT_COORDINATOR")


@_refused("heartbeat", "Heartbeat")
def heartbeat(d: Dialogue) -> None:
    a = _member_elsewhere(d)
    d.expect(a.heartbeat(), error="NOT_COORDINATOR")
    reconnect(a)
    d.expect(a.heartbeat(), error="NONE")


@_refused("leave", "LeaveGroup")
def leave(d: Dialogue) -> None:
    a = _member_elsewhere(d)
    d.expect(a.leave(), error="NOT_COORDINATOR")
    reconnect(a)
    d.expect(a.heartbeat(), error="NONE")


@_refused("commit", "OffsetCommit", {**COMMIT, **FETCH})
def committed(d: Dialogue) -> None:
    topic(d)
    expect_each(d, commit(_member_elsewhere(d), 7), "NOT_COORDINATOR")
    expect_fetched(d, -1)


@_refused("fetch", "OffsetFetch", FETCH)
def fetched(d: Dialogue) -> None:
    a = _member_elsewhere(d)
    asked = {"group_id": d.group_id, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
    group = a.send_whole("OffsetFetch", {"groups": [asked]}).answer(PROMPTLY)["groups"].only()
    _require_elsewhere(d, "OffsetFetch", group["error_code"])


@_refused("delete-offsets", "OffsetDelete", {"OffsetDelete": (0, 0)})
def offsets_deleted(d: Dialogue) -> None:
    a = _member_elsewhere(d)
    topics = [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]
    d.expect(a.send("OffsetDelete", {"topics": topics}).answer(PROMPTLY), error="NOT_COORDINATOR")


@_refused("describe", "DescribeGroups", DESCRIBE)
def described(d: Dialogue) -> None:
    asked = _member_elsewhere(d).send_whole("DescribeGroups", {"groups": [d.group_id]})
    _require_elsewhere(d, "DescribeGroups", asked.answer(PROMPTLY)["groups"][0]["error_code"])


@_refused("delete", "DeleteGroups", DELETE)
def deleted(d: Dialogue) -> None:
    a = _member_elsewhere(d)
    asked = a.send_whole("DeleteGroups", {"groups_names": [d.group_id]})
    _require_elsewhere(d, "DeleteGroups", asked.answer(PROMPTLY)["results"][0]["error_code"])
    reconnect(a)
    d.expect(a.heartbeat(), error="NONE")


def _member_elsewhere(d: Dialogue) -> Member:
    """A member of a Stable group whose requests go to a broker that does not coordinate it."""
    a = d.member("a", **_SESSION)
    stable(d, a)
    moved_elsewhere(d, a)
    return a


def _require_elsewhere(d: Dialogue, api: str, code: int) -> None:
    wanted = f"{api} answered with NOT_COORDINATOR for the group"
    d.require(error_name(code) == "NOT_COORDINATOR", wanted, error_name(code))


@cluster(
    "hosting.elsewhere.session-first",
    "A session timeout out of bounds is refused by any broker, also by one that does not coordinate.",
    "GroupCoordinatorService.joinGroup",
    level=Level.INFO,
    needs=_BROKERS,
)
def session_first(d: Dialogue) -> None:
    _bad_session(d, "INVALID_SESSION_TIMEOUT")


@otherwise(
    "hosting.elsewhere.session-first",
    "session_before_hosting",
    "A broker that does not coordinate the group does not look at a JoinGroup's session timeout.",
)
def session_not_seen(d: Dialogue) -> None:
    _bad_session(d, "NOT_COORDINATOR")


def _bad_session(d: Dialogue, error: str) -> None:
    a = d.member("a", session_timeout_ms=1)
    moved_elsewhere(d, a)
    d.expect(a.join("", within=PROMPTLY), error=error)


@cluster(
    "hosting.elsewhere.no-id",
    "A broker that does not coordinate the group answers a JoinGroup without its member id.",
    "GroupCoordinatorService.joinGroup",
    level=Level.INFO,
    needs=_BROKERS,
)
def no_id(d: Dialogue) -> None:
    d.expect(_member_elsewhere(d).join(within=PROMPTLY), error="NOT_COORDINATOR", member_id="")


@otherwise(
    "hosting.elsewhere.no-id",
    "unhosted_join_echoes_id",
    "A broker that does not coordinate the group answers a JoinGroup with its member id.",
)
def own_id(d: Dialogue) -> None:
    a = _member_elsewhere(d)
    own = a.member_id
    d.expect(a.join(within=PROMPTLY), error="NOT_COORDINATOR", member_id=own)


def _moved(how: Signal) -> None:
    """One case for each way in which the coordinator ends."""

    @cluster(
        f"loading.load.moved-after-{how.lower()}",
        f"When the broker that coordinates has ended ({how}), another one goes on with its groups: members, "
        "generation and offsets are there, and older generations are refused.",
        "GroupMetadataManager.onLoaded; CoordinatorLoaderImpl",
        seconds=25,
        needs={**COMMIT, **FETCH},
        restarts=how,
    )
    def moved(d: Dialogue) -> None:
        topic(d)
        formed = lead_stable(d, *(d.member(name, **_SESSION) for name in "ab"))
        with d.reaching("a committed offset"):
            expect_each(d, commit(formed.leader, 41), "NONE")
        former = d.address
        fail_over(d)
        d.require(d.address != former, "another coordinator", "the former one")
        for member in formed.everyone:
            d.expect(member.heartbeat(), error="NONE")
            older = member.heartbeat(generation_id=member.generation_id - 1)
            d.expect(older, error="ILLEGAL_GENERATION")
        expect_fetched(d, 41)
        expect_each(d, commit(formed.followers[0], 42), "NONE")
        expect_fetched(d, 42)


for _how in EITHER:
    _moved(_how)


@cluster(
    "loading.unload.waiting-join",
    "A coordinator that gives up its groups tells those who wait in JoinGroup: NOT_COORDINATOR.",
    "GroupMetadataManager.onUnloaded; KIP-848's CoordinatorRuntime.CoordinatorContext.unload",
    level=Level.INFO,
    seconds=25,
    restarts=Signal.TERM,
)
def waiting_join(d: Dialogue) -> None:
    formed = lead_stable(d, *(d.member(name, **_SESSION) for name in "ab"))
    with d.reaching("a member that waits in JoinGroup"):
        waiting: PendingRequest = formed.leader.send_join()
        waiting.silent(0.3)
    end_target(d)
    d.expect(waiting.answer(PROMPTLY), error="NOT_COORDINATOR")
    start_again(d)
    d.expect(formed.followers[0].heartbeat(), error="NONE")
