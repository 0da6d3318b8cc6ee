"""The part of a coordinator that only the consumer protocol has."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from rota.coordinator import offsets
from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.consumer import admin, checks, membership
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.hosting import GroupConfigs, Hosted
from rota.coordinator.consumer.messages import ConsumerGroupDescribeReply, ConsumerGroupHeartbeat
from rota.coordinator.consumer.topics import TopicImage
from rota.coordinator.effects import Choices, Effects
from rota.coordinator.group import Group
from rota.coordinator.ledger import Ledger
from rota.coordinator.memory import Memory
from rota.coordinator.offset_store import OffsetStore
from rota.coordinator.purgatory import ParkedRequest, Token
from rota.coordinator.step import Step


class ConsumerGroupCoordinator:
    """What groups of both protocols are kept in, and the requests of the consumer protocol.

    Every method is one step, as in `GroupCoordinator`.
    """

    def __init__(self, config: CoordinatorConfig, choices: Choices) -> None:
        self._config = config
        self._choices = choices
        self._groups: dict[str, Group] = {}
        self._offsets = OffsetStore()
        self._ledger = Ledger()
        self._memory = Memory()
        self._hosted = Hosted(self._groups, self._offsets)
        self.groups: Mapping[str, Group] = MappingProxyType(self._groups)
        self.consumer_groups: Mapping[str, ConsumerGroup] = MappingProxyType(self._hosted.by_id)

    @property
    def group_ids(self) -> tuple[str, ...]:
        """The ids of all groups, classic ones first."""
        return (*self._groups, *self._hosted.by_id)

    def see_topics(self, topics: TopicImage) -> None:
        """These are the cluster's topics from now on, whose changes are seen with each heartbeat."""
        self._hosted.topics = topics

    def see_group_configs(self, configs: GroupConfigs) -> None:
        """What groups have for themselves counts from now on: for a member with its next heartbeat."""
        self._hosted.configs = configs

    def topic_gone(self, topic: str) -> Effects:
        """A topic has been deleted: what is committed of it goes."""
        step = self._step()
        offsets.topic_gone(step, self._offsets, topic)
        return step.effects()

    def consumer_group_heartbeat(
        self,
        request: ConsumerGroupHeartbeat,
        version: int,
        client_id: str | None,
        client_host: str,
        token: Token,
    ) -> Effects:
        """ConsumerGroupHeartbeat; answered when the log has answered what it writes."""
        step, parked = self._step_of(request.group_id), ParkedRequest(token, version)
        refusal = checks.refusal(self._config, request, version)
        if refusal is not None:
            step.reply(parked, refusal)
        else:
            caller = membership.Caller(parked, client_id or "", client_host)
            membership.heartbeat(step, self._hosted, request, caller)
        return step.effects()

    def consumer_group_describe(self, group_ids: Iterable[str], version: int, token: Token) -> Effects:
        """ConsumerGroupDescribe."""
        step = self._step()
        found = (admin.describe(self._config, self._hosted, each) for each in group_ids)
        step.reply(ParkedRequest(token, version), ConsumerGroupDescribeReply(tuple(found)))
        return step.effects()

    def _is_consumer(self, group_id: str, with_members: bool = False) -> bool:
        """Whether a group is of the consumer protocol; and has members, if that is asked."""
        group = self._hosted.by_id.get(group_id)
        return group is not None and (not with_members or bool(group.members))

    def _step_of(self, group_id: str) -> Step:
        """A step that goes by what a group has for itself, where it has anything."""
        config = self._hosted.configs.config_of(group_id) or self._config
        return Step(config, self._choices, self._ledger, self._memory)

    def _step(self) -> Step:
        return Step(self._config, self._choices, self._ledger, self._memory)
