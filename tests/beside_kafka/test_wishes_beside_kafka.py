"""The assignor that a group prefers by its members' wishes: Kafka's own group, the spec, the coordinator."""

from __future__ import annotations

from itertools import product

from harness.java_programs import Compiled, answers
from rota.coordinator.consumer.group import ConsumerGroup as CoreGroup
from rota.coordinator.consumer.records import MemberMetadata, member_key
from rota.kernel import FrozenMap
from rota.spec.consumer.group import ConsumerGroup, Metadata
from rota.spec.consumer.handlers import consumer

DEFAULT = "uniform"


def spec_prefers(wishes: tuple[str, ...]) -> str:
    members = {f"m{place}": Metadata(server_assignor=_said(one)) for place, one in enumerate(wishes)}
    found: str = consumer().ask("target.preferred-assignor", ConsumerGroup(members=FrozenMap(members)))
    return found


def core_prefers(wishes: tuple[str, ...]) -> str:
    group = CoreGroup("g")
    for place, one in enumerate(wishes):
        group.put(member_key(f"m{place}"), MemberMetadata(server_assignor=_said(one)))
    return group.wished_assignor or DEFAULT


def _said(wish: str) -> str | None:
    return None if wish == "-" else wish


def test_the_preferred_assignor_is_kafkas_also_where_as_many_wish_for_each(java: Compiled) -> None:
    cases = [some for size in range(1, 7) for some in product(("-", "range", "uniform"), repeat=size)]
    theirs = [
        DEFAULT if one == "-" else one for one in answers(java("Wishes"), [" ".join(one) for one in cases])
    ]
    assert [spec_prefers(one) for one in cases] == theirs
    assert [core_prefers(one) for one in cases] == theirs
    ties = [
        said for one, said in zip(cases, theirs, strict=True) if one.count("range") == one.count("uniform")
    ]
    assert len(ties) > 100
    assert set(ties) == {DEFAULT}
