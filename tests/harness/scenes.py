"""Courses of a few clients with rota's own server in virtual time, written by hand; what was seen is kept."""

from __future__ import annotations

from rota.generate.cast import TOPICS
from rota.generate.plan import Plan
from rota.generate.player import Stage
from rota.generate.virtual import in_virtual_time
from rota.spec import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetFetchRequest,
    TopicPartitions,
)

SETTINGS = {"group.initial.rebalance.delay.ms": 1000, "group.min.session.timeout.ms": 1000}


class Scene:
    """A group on a stage: each client has a connection of its own. ids, generations: as they were told."""

    def __init__(self, stage):
        self.stage = stage
        self.number = 0
        self.ids, self.generation, self.joins = {}, 0, {}

    async def ask(self, client, request, version, waits=True):
        """A request; its answer, if it is waited for."""
        self.number += 1
        asked = await self.stage.ask(client, ord(client), version, request, self.number)
        if waits:
            await self.stage.answered(asked, 1.0)
        return self.stage.answers.get(asked.plan)

    async def silence(self, seconds):
        """Time passes."""
        await self.stage.silence(seconds)
        for client, number in self.joins.items():
            told = self.stage.answers.get(number)
            if told is not None and told.generation_id > 0:
                self.generation, self.ids[client] = told.generation_id, told.member_id

    async def join(self, *clients, session=3_000, rebalance=2_000, version=9, instance=None, metadata=b"m"):
        """JoinGroups with the ids that are known, handshake included; their answers come later."""
        for client in clients:
            lists = (ProtocolMetadata("range", metadata), ProtocolMetadata("sticky", b""))
            where = self.stage.group_id
            about = (session, rebalance, self.ids.get(client, ""), "consumer", lists, instance)
            told = None
            if not self.ids.get(client) and version >= 4 and instance is None:
                told = await self.ask(client, JoinGroupRequest(where, *about), version)
                self.ids[client] = told.member_id
                about = (*about[:2], told.member_id, *about[3:])
            await self.ask(client, JoinGroupRequest(where, *about), version, waits=False)
            self.joins[client] = self.number

    async def sync(self, *clients, leads=""):
        """SyncGroups; who leads hands something in for everybody."""
        for client in clients:
            shares = (MemberAssignment(one, one.encode()) for one in self.ids.values())
            given = tuple(shares) if client == leads else ()
            request = SyncGroupRequest(self.stage.group_id, self.generation, self.ids[client], given)
            await self.ask(client, request, 4, waits=False)

    async def beat(self, *clients, ahead=0):
        """Heartbeats."""
        for client in clients:
            request = HeartbeatRequest(self.stage.group_id, self.generation + ahead, self.ids[client])
            await self.ask(client, request, 4)

    async def leave(self, client):
        """LeaveGroup."""
        identity = LeavingMember(self.ids[client])
        await self.ask(client, LeaveGroupRequest(self.stage.group_id, (identity,)), 4)

    async def look(self):
        """DescribeGroups, by somebody else."""
        await self.ask("z", DescribeGroupsRequest(self.stage.group_id), 5)

    async def stable(self, *clients, **more):
        """All become members, and Stable."""
        await self.join(*clients, **more)
        await self.silence(2.5)
        await self.sync(*clients, leads=clients[0])
        await self.silence(0.1)


async def sessions(scene):
    """One member lives by heartbeats and then falls silent."""
    await scene.stable("a")
    for _ in range(4):
        await scene.silence(1.0)
        await scene.beat("a")
    await scene.silence(2.5)
    await scene.look()
    await scene.silence(0.8)
    await scene.beat("a")
    await scene.look()


async def late_members(scene):
    """A member does not come to the next join phase; another one never syncs; an id is never used."""
    await scene.stable("a", "b")
    await scene.join("c")
    await scene.beat("a", "b")
    await scene.join("a")
    await scene.silence(1.8)
    await scene.beat("b")
    await scene.silence(0.5)
    await scene.beat("b")
    await scene.look()
    await scene.sync("a", leads="a")
    await scene.silence(1.0)
    await scene.beat("a", "c")
    await scene.silence(1.3)
    await scene.beat("c")
    await scene.look()
    await scene.silence(3.0)
    await scene.look()


async def rejoining(scene):
    """Members join again in every state, with other metadata and without."""
    await scene.stable("a", "b", session=9_000, rebalance=4_000)
    await scene.join("b", session=9_000)
    await scene.silence(0.1)
    await scene.join("a", session=9_000)
    await scene.silence(0.1)
    await scene.beat("b")
    await scene.join("b", session=9_000)
    await scene.silence(0.5)
    await scene.sync("b")
    await scene.join("b", session=9_000, metadata=b"other")
    await scene.silence(0.1)
    await scene.join("a", session=9_000)
    await scene.silence(0.1)
    await scene.beat("a", ahead=-1)
    await scene.sync("a", "b", leads="a")
    await scene.silence(0.1)
    await scene.look()
    await scene.leave("b")
    await scene.beat("a")
    await scene.leave("a")
    await scene.look()


async def static_members(scene):
    """A static member starts anew twice, and its former ids are used."""
    await scene.stable("a", "b", instance=None)
    await scene.join("s", instance="i", version=9)
    await scene.join("a", "b")
    await scene.silence(0.1)
    await scene.sync("a", "b", "s", leads="a")
    await scene.silence(0.1)
    former = dict(scene.ids)
    scene.ids.pop("s")
    await scene.join("s", instance="i", version=9, metadata=b"m", session=5_000)
    await scene.silence(0.2)
    await scene.beat("s", "a")
    request = HeartbeatRequest(scene.stage.group_id, scene.generation, former["s"], "i")
    await scene.ask("t", request, 4)
    await scene.silence(2.0)
    await scene.beat("a", "b")
    await scene.silence(2.5)
    await scene.beat("a")
    await scene.look()


async def listed(scene):
    """A member comes and is on lists."""
    group, lists = scene.stage.group_id, (ProtocolMetadata("range", b"m"),)
    await scene.ask("a", JoinGroupRequest(group, 3_000, 2_000, "nobody", "consumer", lists), 9)
    for version in (0, 4, 5):
        await scene.ask("z", ListGroupsRequest(group), version)
    await scene.stable("a")
    for version in (0, 4, 5):
        await scene.ask("z", ListGroupsRequest(group), version)
    await scene.silence(4.0)
    await scene.ask("z", ListGroupsRequest(group, ("empty",)), 5)


async def newcomers(scene):
    """The first join phase goes on while somebody comes; an id that nobody uses holds a later one up."""
    await scene.join("a", rebalance=3_000)
    await scene.silence(0.7)
    await scene.join("b", version=3)
    await scene.silence(0.6)
    await scene.look()
    await scene.silence(1.5)
    await scene.sync("a", "b", leads="a")
    await scene.silence(0.1)
    await scene.ask("c", JoinGroupRequest(scene.stage.group_id, 2_000, 2_000, "", "consumer", ()), 9)
    lists = (ProtocolMetadata("range", b"m"),)
    await scene.ask("c", JoinGroupRequest(scene.stage.group_id, 2_000, 2_000, "", "consumer", lists), 9)
    await scene.join("a", "b", rebalance=3_000)
    await scene.silence(1.7)
    await scene.look()
    await scene.silence(1.0)
    await scene.beat("a", "b")
    await scene.silence(3.0)
    await scene.look()


async def offsets(scene):
    """Offsets are committed, asked for and deleted with their group."""
    where = scene.stage.group_id
    named = (TopicPartitions(TOPICS[0], (0, 1)),)

    async def commit(offset, generation=-1, member_id=""):
        topics = (OffsetCommitTopic(TOPICS[0], (OffsetCommitPartition(0, offset),)),)
        await scene.ask("o", OffsetCommitRequest(where, topics, generation, member_id), 8)
        await scene.ask("o", OffsetFetchRequest(where, named), 7)

    await commit(3)
    await scene.stable("a")
    await commit(5)
    await commit(7, scene.generation, scene.ids["a"])
    await commit(8, scene.generation + 1, scene.ids["a"])
    await scene.ask("o", DeleteGroupsRequest(where), 2)
    await scene.leave("a")
    await scene.ask("o", OffsetFetchRequest(where, None), 7)
    await scene.ask("o", DeleteGroupsRequest(where), 2)
    await scene.ask("o", OffsetFetchRequest(where, named), 7)
    await scene.look()


async def silences(scene):
    """Sessions that nobody renews: since the SyncGroup, since a restart with another timeout."""
    await scene.stable("a")
    await scene.silence(2.7)
    await scene.look()
    await scene.silence(0.6)
    await scene.look()
    await scene.join("s", instance="i", session=2_000)
    await scene.silence(2.1)
    await scene.sync("s", leads="s")
    await scene.silence(0.1)
    scene.ids.pop("s")
    await scene.join("s", instance="i", session=6_000)
    await scene.silence(1.7)
    await scene.look()
    await scene.silence(0.7)
    await scene.look()


SCENES = (sessions, late_members, rejoining, static_members, newcomers, offsets, silences)


def seen_of(scene, profile="rota"):
    """The history of a scene."""

    async def walk(coordinator):
        stage = Stage(coordinator, scene.__name__)
        await scene(Scene(stage))
        await stage.silence(0.5)
        stage.close()
        return stage.played(Plan(0, 0, ())).history

    return in_virtual_time(SETTINGS, walk, profile)
