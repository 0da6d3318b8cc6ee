"""The server: its listeners, its connections, and which part answers which request."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from rota.coordinator import Choices, CoordinatorConfig, GroupCoordinator
from rota.server.alter_configs import AlterConfigs
from rota.server.alter_topics import CreatePartitions, DeleteTopics
from rota.server.api_ranges import CLUSTER_ID, ApiRanges
from rota.server.beginning import AT_RANDOM, Beginning, Ids
from rota.server.cluster import Cluster
from rota.server.connection import Connection
from rota.server.context import RequestContext
from rota.server.controllers import describe_quorum, update_features
from rota.server.create_topics import CreateTopics
from rota.server.delete_records import DeleteRecords, OffsetForLeaderEpoch
from rota.server.describe_configs import DescribeConfigs, ListConfigResources
from rota.server.describe_partitions import DescribeTopicPartitions
from rota.server.elsewhere import Elsewhere
from rota.server.endpoints import Endpoint, Endpoints, Ports
from rota.server.fetch import Fetches
from rota.server.gate import already_authenticated
from rota.server.group_configs import GroupConfigs
from rota.server.group_log import Answered, GroupLog, MemoryLog
from rota.server.groups import GroupService
from rota.server.in_thread import in_thread
from rota.server.intake import Intake
from rota.server.internal_topics import ensure_offsets
from rota.server.list_offsets import list_offsets
from rota.server.listeners import USUALLY, Listening, on_port
from rota.server.one_node import OneNode
from rota.server.placement import Placement
from rota.server.produce import Produce
from rota.server.settings import NODE_ID, USUAL, Settings
from rota.server.storage import DataDir
from rota.server.stored_groups import read, without_collections
from rota.server.timers import wall_clock_ms
from rota.server.topics import Topics
from rota.server.transactions import Around, TransactionService
from rota.server.turns import Turns
from rota.server.unsent import Unsent
from rota.server.upkeep import Upkeep
from rota.transactions import CoordinatorConfig as TransactionsConfig

STOP_SECONDS = 1.0
"""How long a stop waits for the log's answers; and after them for the disk, and for replies being sent."""

READ_AT_ONCE = 256 * 1024
"""Bytes that are read of a connection in one go, at most."""

SPARE_FILES = 200
"""Files that a process needs beside its connections: those accepted only to be closed, and others."""

CoordinatorFactory = Callable[[CoordinatorConfig, Choices], GroupCoordinator]
Handler = Callable[[Mapping[str, Any], RequestContext], Iterator[None] | None]


@dataclass(frozen=True)
class Hooks:
    """What is put between the parts of a server by who has it in hand; nothing by default.

    takes: sees each request first, and says whether it is done with it. log: of the groups, if they are in
    memory. wall_clock: what times of commits and retention are told by.
    """

    takes: Callable[[Mapping[str, Any], RequestContext], bool] | None = None
    log: Callable[[asyncio.AbstractEventLoop, Answered], GroupLog] = MemoryLog
    wall_clock: Callable[[], int] = wall_clock_ms


class Server:
    """A cluster of one broker or more. `start` once, `stop` once, both on the event loop that runs it.

    `coordinator` makes the group coordinator. `data_dir`: where its groups are kept; without, they are in
    memory as all else is. `listening`: where it listens; `beginning`: with which topics and ids it begins.
    `endpoints`: the ports that it has. `placement`: who leads and coordinates what. `connections` are those
    that are open, and share `landing`; `groups` is the coordinator with its clock, and `cluster` says where
    it is; both None before the start.
    """

    def __init__(
        self,
        settings: Settings,
        coordinator: CoordinatorFactory = GroupCoordinator,
        data_dir: DataDir | None = None,
        hooks: Hooks = Hooks(),
        listening: Listening = USUALLY,
        beginning: Beginning = AT_RANDOM,
    ) -> None:
        self.max_frame = settings.socket_request_max_bytes
        self.max_idle = settings.connections_max_idle_ms / 1000
        self.max_connections = _most_connections(settings.max_connections)
        self.connections: set[Connection] = set()
        self.topics = Topics(settings, hooks.wall_clock)
        self.group_configs = GroupConfigs(settings, self.topics.configs)
        self.placement = Placement(listening.brokers, settings.coordinator.partition_of)
        self.topics.placement = self.placement
        self._beginning = beginning
        self._ids = Ids(beginning.seed)
        self.topics.new_id = partial(self._ids.next, "topic")
        self.upkeep: Upkeep | None = None
        self.groups: GroupService | None = None
        self.cluster: Cluster | None = None
        self.fetches: Fetches | None = None
        self.transactions: TransactionService | None = None
        self.turns: Turns
        self.intake: Intake
        self.landing = memoryview(bytearray(READ_AT_ONCE))
        self.unsent = Unsent()
        self._settings = settings
        self._coordinator = coordinator
        self._data_dir = data_dir
        self._hooks = hooks
        self._takes = hooks.takes
        self.endpoints = Endpoints(listening, settings)
        self._elsewhere = Elsewhere(self.placement)
        self._handlers: dict[str, Handler] = {}
        self._ranges = ApiRanges(frozenset())

    async def start(self, ports: Ports | None = None) -> str:
        """Listens, at these ports if there are any; returns the place of each broker, with a comma between.

        That is what clients take as bootstrap.servers, at the first listener. Nobody is served before the
        groups of `data_dir` are loaded. Errors: OSError as of `bind`; StorageError.
        """
        loop = asyncio.get_running_loop()
        self.turns = Turns(loop)
        self.intake = Intake(self._settings.queued_max_request_bytes, loop.call_later, loop.time)
        # What arrives before the loop serves it waits in the backlog.
        self.endpoints.bind(ports or {})
        try:
            await self.endpoints.prepare(self._connection)
            stored = None if self._data_dir is None else await read(self._settings, self._data_dir)
        except BaseException:
            self.endpoints.close()
            raise
        self.groups = GroupService(
            self._settings.coordinator,
            loop,
            self._coordinator,
            self.topics,
            self._settings.offsets_retention_check_interval_ms,
            self._hooks.log if stored is None else stored.log,
            self.turns,
            self._hooks.wall_clock,
            self._ids,
        )
        self.groups.core.see_topics(self.topics)
        self.groups.core.see_group_configs(self.group_configs)
        if stored is not None:
            with without_collections():
                await self.groups.load(stored.taken())
        if stored is not None:
            ensure_offsets(self.topics, self._settings)
        self._beginning.create(self.topics)
        self.upkeep = Upkeep(self.topics, self._settings, loop, self.turns)
        slots = self._settings.max_incremental_fetch_session_cache_slots
        self.fetches = Fetches(self.topics, self._settings.fetch_max_bytes, loop, self.turns, slots)
        self.cluster = Cluster(self._settings, self.topics, self.endpoints, loop)
        self._handlers = self._wired(self.cluster, self.groups, self.fetches)
        self._ranges = ApiRanges(frozenset(self._handlers), self.endpoints)
        await self.endpoints.serve()
        return self.bootstrap

    @property
    def bootstrap(self) -> str:
        """Each broker's HOST:PORT at the first listener, with a comma between."""
        return ",".join(self.endpoints.at(node_id) for node_id in self.endpoints.node_ids)

    async def add_broker(self, node_id: int) -> None:
        """One broker more, at ports of its own. Errors: OSError where there are none."""
        await self.endpoints.add_node(node_id, self._connection)

    def _connection(self, endpoint: Endpoint) -> Connection:
        return Connection(self, endpoint)

    def _wired(self, cluster: Cluster, groups: GroupService, fetches: Fetches) -> dict[str, Handler]:
        """Which part answers which API."""
        transactions = self._transactions(groups, fetches)
        produce = Produce(self.topics, fetches.appended, transactions)
        one, configs = OneNode(self.topics, CLUSTER_ID, cluster.nodes), self.group_configs
        return {
            "AlterConfigs": _answered_in_steps(AlterConfigs(self.topics, configs, incremental=False)),
            "AlterReplicaLogDirs": _answered_in_steps(one.alter_log_dirs),
            "AlterPartitionReassignments": _answered_in_steps(one.alter_reassignments),
            "ApiVersions": _answered(self.api_versions),
            "CreatePartitions": _answered(CreatePartitions(self.topics)),
            "CreateTopics": _answered_in_steps(CreateTopics(self.topics, self._settings)),
            "DeleteRecords": _asked_in_steps(DeleteRecords(self.topics)),
            "DeleteTopics": _answered(DeleteTopics(self.topics, groups.topic_gone)),
            "DescribeClientQuotas": _answered(one.describe_quotas),
            "DescribeCluster": one.describe_cluster,
            "DescribeConfigs": DescribeConfigs(self.topics, configs, self.endpoints.configs(NODE_ID)),
            "DescribeLogDirs": _answered_in_steps(one.describe_log_dirs),
            "DescribeQuorum": _answered(describe_quorum),
            "DescribeTopicPartitions": _answered_in_steps(DescribeTopicPartitions(self.topics)),
            "ElectLeaders": _answered_in_steps(one.elect_leaders),
            "Fetch": fetches,
            "FindCoordinator": cluster.find_coordinators,
            "IncrementalAlterConfigs": _answered_in_steps(
                AlterConfigs(self.topics, configs, incremental=True)
            ),
            "ListConfigResources": _answered(ListConfigResources(self.topics, configs)),
            "ListOffsets": _asked_in_steps(partial(list_offsets, self.topics)),
            "ListPartitionReassignments": _answered(one.list_reassignments),
            "Metadata": cluster.describe,
            "OffsetForLeaderEpoch": _asked_in_steps(OffsetForLeaderEpoch(self.topics)),
            "Produce": produce,
            "SaslAuthenticate": _answered(already_authenticated),
            "SaslHandshake": _answered(already_authenticated),
            "UpdateFeatures": _answered(update_features),
            **groups.handlers,
            "AddOffsetsToTxn": _answered(transactions.add_offsets),
            "AddPartitionsToTxn": _answered_in_steps(transactions.add_partitions),
            "DescribeProducers": _asked_in_steps(transactions.describe_producers),
            "DescribeTransactions": _answered(transactions.describe),
            "EndTxn": transactions.end,
            "InitProducerId": _answered(transactions.init_producer_id),
            "ListTransactions": _answered_in_steps(transactions.list_all),
        }

    def _transactions(self, groups: GroupService, fetches: Fetches) -> TransactionService:
        """The transaction coordinator, which is asked about offsets of transactions too.

        Producer ids that were given before are in the groups' log: those after a start are above them.
        """
        first = 0 if self._data_dir is None else self._hooks.wall_clock()
        around = Around(
            self.topics,
            fetches.appended,
            self._settings.coordinator.partition_of,
            groups.end_offsets,
            self._hooks.wall_clock,
            partial(next, count(first)),
        )
        config = TransactionsConfig(self._settings.transaction_max_timeout_ms)
        self.transactions = TransactionService(config, around, asyncio.get_running_loop(), self.turns)
        groups.may_commit = self.transactions.check_commit
        return self.transactions

    async def stop(self) -> None:
        """Accepts nothing more, answers what is in flight, closes every connection.

        A parked Fetch is answered with what there is, a request that is parked in the coordinator with
        NOT_COORDINATOR: it resigns.
        """
        if self.groups is None or self.fetches is None:
            return
        self.endpoints.close()
        if self.upkeep is not None:
            self.upkeep.stop()
        for connection in self.connections:
            connection.finish()
        with suppress(TimeoutError):
            # What the log answers may answer requests, or lead to another append.
            await asyncio.wait_for(self.groups.log.drain(), STOP_SECONDS)
        self.fetches.end_all()
        if self.transactions is not None:
            self.transactions.stop()
        try:
            self.groups.resign()
        finally:
            await asyncio.gather(self._close_connections(), self.groups.log.close(STOP_SECONDS))
            await self.endpoints.closed()

    async def _close_connections(self) -> None:
        """Closes each when what was written has left, after STOP_SECONDS at once."""
        for connection in tuple(self.connections):
            connection.finish()
            connection.close()
        for seconds in (STOP_SECONDS, None):
            if self.connections:
                await asyncio.wait([connection.closed for connection in self.connections], timeout=seconds)
            for connection in tuple(self.connections):
                connection.abort()

    def serves(self, key: int, version: int) -> bool:
        """Whether requests of that API and version are answered."""
        return self._ranges.serves(key, version)

    def handle(self, body: Mapping[str, Any], context: RequestContext) -> Iterator[None] | None:
        """Hands a request to its part of the server, which may take several steps for it."""
        if self._takes is not None and self._takes(body, context):
            return None
        return self.carry_out(body, context)

    def carry_out(self, body: Mapping[str, Any], context: RequestContext) -> Iterator[None] | None:
        """As `handle`, whatever the hooks would do with the request.

        What another broker coordinates is refused here.
        """
        if not self.placement.is_one and (local := self._elsewhere.local(body, context)) is not body:
            if local is None:
                return None
            body = local
        return self._handlers[context.api_name](body, context)

    def api_versions(self, body: Mapping[str, Any], version: int) -> Mapping[str, Any]:
        """The answer to ApiVersions."""
        return self._ranges.api_versions(body, version)

    def out_of_range(self) -> Mapping[str, Any]:
        """The body, in version 0, that answers an ApiVersions of an unknown version."""
        return self._ranges.out_of_range()


def _most_connections(wanted: int) -> int:
    """As many as are wanted, but no more than there can be open files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if files == resource.RLIM_INFINITY else min(wanted, max(files - SPARE_FILES, files // 2))


def _answered(function: Callable[[Mapping[str, Any], int], Mapping[str, Any]]) -> Handler:
    """A handler from a function (body, version) → response body."""
    return lambda body, context: context.reply(function(body, context.version))


def _answered_in_steps(
    function: Callable[[Mapping[str, Any], int], Generator[None, None, Mapping[str, Any]]],
) -> Handler:
    """A handler from a generator function (body, version) that returns the response body."""
    return _asked_in_steps(lambda body, context: function(body, context.version))


def _asked_in_steps(
    function: Callable[[Mapping[str, Any], RequestContext], Generator[None, None, Mapping[str, Any]]],
) -> Handler:
    """The same, of one that has to know which broker was asked."""

    def steps(body: Mapping[str, Any], context: RequestContext) -> Iterator[None]:
        context.reply((yield from function(body, context)))

    return steps


async def serve(
    config: Mapping[str, object],
    port: int,
    stop: asyncio.Event,
    listening: Callable[[Server], object] = lambda server: None,
    coordinator: CoordinatorFactory = GroupCoordinator,
    data_dir: DataDir | None = None,
    profile: str = USUAL,
    where: Listening | None = None,
    beginning: Beginning = AT_RANDOM,
) -> None:
    """Runs a server until `stop` is set; `listening` is called with it when it listens.

    `config` has Kafka's names; `coordinator` and `data_dir` are as of `Server`, `profile` one of `SERVED`.
    `where` it listens: at `port` of 127.0.0.1 if nothing is said. `beginning`: with which topics and ids.
    Errors: SettingsError; StorageError; OSError if a port cannot be had.
    """
    settings = Settings.of(config, profile)
    at = where or Listening(on_port(port))
    server = Server(settings, coordinator, data_dir, listening=at, beginning=beginning)
    await server.start()
    try:
        listening(server)
        await stop.wait()
    finally:
        await server.stop()


@contextmanager
def running(
    config: Mapping[str, object] | None = None,
    port: int = 0,
    coordinator: CoordinatorFactory = GroupCoordinator,
    data_dir: DataDir | None = None,
    profile: str = USUAL,
    where: Listening | None = None,
    beginning: Beginning = AT_RANDOM,
) -> Iterator[str]:
    """A server in a thread of its own while the block runs; gives "127.0.0.1:PORT", or several such.

    The arguments are those of `serve`. Errors: as of `serve`, before the block; whatever the server's end
    raises, after it.
    """

    async def until(stop: asyncio.Event, listening: Callable[[str], object]) -> None:
        def told(server: Server) -> None:
            listening(server.bootstrap)

        await serve(config or {}, port, stop, told, coordinator, data_dir, profile, where, beginning)

    with in_thread(until) as address:
        yield address
