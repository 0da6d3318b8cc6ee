"""Rules of the consumer protocol that are wrong are found: by a fact, a dialogue with Kafka or a walk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from consumer_dialogues import ALL, golden
from harness.consumer_facts import FACTS
from harness.consumer_walk import Broken, walked
from harness.spec_stage import Differs, OutOfScope, played_on_spec
from rota.kernel import FrozenMap, RuleTable, replace
from rota.spec import RULES
from rota.spec.consumer import assignors, records
from rota.spec.consumer.context import NoRuleError
from rota.spec.consumer.group import Metadata
from rota.spec.consumer.handlers import CONSUMER_HANDLERS, CONSUMER_RULES
from rota.spec.consumer.messages import ErrorReply
from rota.spec.consumer.records import NotLoaded
from rota.spec.consumer.step import Step
from rota.spec.consumer.vocabulary import ErrorCode, RecordKind

FOUND = (Differs, Broken, NotLoaded, AssertionError, NoRuleError, KeyError)
WALKS = range(30)

LAST = {slugs[-1] for slugs in CONSUMER_HANDLERS.values()}
ACTING = [slug for slug, one in CONSUMER_RULES.items() if not one.decides and slug not in LAST]


def original(slug: str) -> Callable[..., Any]:
    return CONSUMER_RULES[slug].function


@cache
def texts() -> dict[str, str]:
    return {one.slug: golden(one).read_text(encoding="utf-8") for one in ALL}


def trials() -> Iterator[tuple[str, Callable[[RuleTable], Any]]]:
    yield from FACTS.items()
    for one in ALL:
        yield one.slug, lambda rules, one=one: played_on_spec(one, texts()[one.slug], rules)
    for seed in WALKS:
        yield f"walk {seed}", lambda rules, seed=seed: walked(seed, rules=rules).settles()


def finder(rules: RuleTable) -> str | None:
    """Who finds the mistake, None for nobody."""
    for name, trial in trials():
        try:
            trial(rules)
        except OutOfScope:
            continue
        except FOUND:
            return name
    return None


def group_records_reversed(spec: Any, group: Any, call: Any) -> Any:
    steps = original("membership.heartbeat")(spec, group, call)
    return tuple(replace(one, records=one.records[::-1]) for one in steps)


def one_epoch_each(spec: Any, group: Any, gone: Any, topics: Any) -> Step:
    step = Step(group)
    for one in gone:
        after = original("leave.removal")(spec, step.group, (one,), topics)
        step = replace(after, records=(*step.records, *after.records), timers=(*step.timers, *after.timers))
    return step


def without(slug: str, *kinds: RecordKind) -> Callable[..., Any]:
    """A rule that forgets to write some kinds of records."""

    def wrong(spec: Any, group: Any, *inputs: Any) -> Any:
        found = original(slug)(spec, group, *inputs)
        steps = found if isinstance(found, tuple) and not isinstance(found, Step) else (found,)
        before = group.group if isinstance(group, Step) else group
        old = len(group.records) if isinstance(group, Step) else 0
        made = []
        for one in steps:
            kept = [each for place, each in enumerate(one.records) if place < old or each.kind not in kinds]
            again = Step(before, records=one.records[:old]).write(*kept[old:])
            made.append(replace(one, group=again.group, records=again.records))
        return tuple(made) if steps is found else made[0]

    return wrong


def assigned_only(spec: Any, group: Any, call: Any) -> Any:
    current = FrozenMap((name, replace(now, pending=frozenset())) for name, now in group.current.items())
    (step,) = original("admin.describe")(spec, replace(group, current=current), call)
    return (replace(step, group=group),)


def static_first(spec: Any, group: Any, call: Any) -> Any:
    """What is not served is refused before an assignor that is not there."""
    static = call.request.instance_id is not None or call.request.subscribed_topic_regex
    return () if static else original("target.unknown-assignor")(spec, group, call)


def full_before_kind(spec: Any, group: Any, call: Any) -> Any:
    steps = original("admin.classic-join")(spec, group, call)
    full = len(group.members) >= spec.config.max_size
    told = ErrorReply(ErrorCode.GROUP_MAX_SIZE_REACHED)
    return tuple(replace(one, replies=()).answer(call.to, told) if full else one for one in steps)


def not_found(spec: Any, group: Any, call: Any) -> Any:
    return original("admin.delete-no-group")(spec, None, call)


WRONG: dict[str, tuple[str, Callable[..., Any]]] = {
    "what is not said is forgotten": (
        "membership.fields",
        lambda spec, old, request: original("membership.fields")(spec, Metadata(), request),
    ),
    "told always": ("membership.told", lambda *_: True),
    "told by changes alone": ("membership.told", lambda spec, call, old, new: old.assigned != new.assigned),
    "left topics are no matter": (
        "membership.led",
        lambda spec, step, call, who, _: original("membership.led")(spec, step, call, who, False),
    ),
    "the batch in another order": ("membership.heartbeat", group_records_reversed),
    "no change of a subscription": ("epochs.subscription-changed", lambda *_: False),
    "every word is a change": ("epochs.subscription-changed", lambda spec, old, new: old != new),
    "every heartbeat raises the epoch": ("epochs.raised", lambda *_: True),
    "topics raise no epoch": (
        "epochs.raised",
        lambda spec, before, after, known, changed: original("epochs.raised")(
            spec, before, after, before.metadata_hash, changed
        ),
    ),
    "wishes raise no epoch": (
        "epochs.raised",
        lambda spec, before, after, known, changed: changed or known != before.metadata_hash,
    ),
    "a topic's size is not known": (
        "topics.hash",
        lambda *inputs: tuple((name, one, 0) for name, one, _ in original("topics.hash")(*inputs)),
    ),
    "a topic's id is not known": (
        "topics.hash",
        lambda *inputs: tuple((name, "", size) for name, _, size in original("topics.hash")(*inputs)),
    ),
    "nobody subscribes": ("topics.subscribed", lambda *_: frozenset()),
    "wishes are not heard": ("target.preferred-assignor", lambda spec, _: spec.config.assignors[0]),
    "no interval": ("target.due", lambda spec, group: (group.target_epoch < group.epoch,)),
    "one target for ever": ("target.due", lambda spec, group: (not group.computed,)),
    "the old target is not seen": (
        "target.asked",
        lambda *inputs: replace(
            original("target.asked")(*inputs),
            target=FrozenMap((name, frozenset()) for name in inputs[1].members),
        ),
    ),
    "members' targets are not written": (
        "target.written",
        without("target.written", RecordKind.MEMBERS_TARGET),
    ),
    "the target's epoch is not written": ("target.written", without("target.written", RecordKind.TARGET)),
    "what is not served is refused first": ("target.unknown-assignor", static_first),
    "a full group says so to classic members": ("admin.classic-join", full_before_kind),
    "no wait": ("target.computed", lambda *inputs: original("target.computed")(*inputs)[:1]),
    "removed with an epoch each": ("leave.removal", one_epoch_each),
    "what was had is not taken away": ("leave.removal", without("leave.removal", RecordKind.CURRENT)),
    "the target stays behind": ("leave.removal", without("leave.removal", RecordKind.TARGET)),
    "no epoch for who left": ("leave.removal", without("leave.removal", RecordKind.GROUP)),
    "LeaveGroup removes nobody": (
        "leave.batch",
        lambda spec, group, call: (
            Step(group, replies=original("leave.batch")(spec, group, call)[0].replies),
        ),
    ),
    "no end of a session": ("timers.session", lambda spec, group, *_: (Step(group),)),
    "all the time to give up": ("timers.rebalance", lambda spec, group, *_: (Step(group),)),
    "no time to give up": ("timers.give-up", lambda spec, step, _: step),
    "timers are lost": ("timers.loaded", lambda spec, group: Step(group)),
    "no answer waits": (
        "persistence.written",
        lambda spec, shard, step: (replace(shard, group=step.group), step.replies),
    ),
    "errors wait for the log": (
        "persistence.written",
        lambda spec, shard, step: original("persistence.written")(spec, shard, replace(step, at_once=False)),
    ),
    "a commit is no batch": (
        "persistence.written",
        lambda spec, shard, step: original("persistence.written")(spec, shard, replace(step, stores=())),
    ),
    "all that waits is answered": (
        "persistence.stored",
        lambda spec, shard: (replace(shard, batches=()), tuple(r for b in shard.batches for r in b.replies)),
    ),
    "a failed append is kept": (
        "persistence.failed",
        lambda spec, shard, *inputs: (
            replace(original("persistence.failed")(spec, shard, *inputs)[0], group=shard.group),
            original("persistence.failed")(spec, shard, *inputs)[1],
        ),
    ),
    "nobody is told of the move": ("persistence.moved", lambda spec, shard: (type(shard)(), ())),
    "a commit is not stored": (
        "offsets.commit",
        lambda *inputs: tuple(replace(one, stores=()) for one in original("offsets.commit")(*inputs)),
    ),
    "offsets stay": (
        "offsets.delete",
        lambda *inputs: tuple(replace(one, forgets=None) for one in original("offsets.delete")(*inputs)),
    ),
    "a fetch finds no group": ("offsets.fetch", not_found),
    "old versions find no group": ("admin.describe-as-classic", not_found),
    "a Heartbeat finds no group": ("admin.classic-other", not_found),
    "pending is not shown": ("admin.describe", assigned_only),
    "all are listed": (
        "admin.list",
        lambda spec, group, call: original("admin.list")(
            spec,
            group,
            replace(call, request=replace(call.request, states_filter=frozenset(), types_filter=frozenset())),
        ),
    ),
    "topics are not taken away": ("admin.delete", without("admin.delete", RecordKind.TOPICS)),
}


def test_as_it_stands_nobody_finds_a_mistake() -> None:
    assert finder(CONSUMER_RULES) is None


@pytest.mark.parametrize("slug", ACTING)
def test_a_rule_that_is_not_there_is_missed(slug: str) -> None:
    assert finder(CONSUMER_RULES.replaced(slug, lambda *_: ())) is not None


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_rule_is_found(mistake: str) -> None:
    slug, function = WRONG[mistake]
    assert finder(CONSUMER_RULES.replaced(slug, function)) is not None


def test_every_rule_has_a_mistake_that_is_found() -> None:
    assert {slug for slug, _ in WRONG.values()} | set(ACTING) == CONSUMER_RULES.keys()


def no_owner_is_forgotten(group: Any, member_id: str, value: Any) -> Any:
    held = dict(group.owners) | (dict.fromkeys(value.owned, value.epoch) if value else {})
    current = {name: now for name, now in group.current.items() if name != member_id}
    current |= {member_id: value} if value else {}
    return replace(group, current=FrozenMap(current), owners=FrozenMap(held))


def every_owner_is_forgotten(group: Any, member_id: str, value: Any) -> Any:
    """Whatever is written of a member, the entries of others are lost (KAFKA-16147 lost such)."""
    return replace(no_owner_is_forgotten(group, member_id, value), owners=FrozenMap())


@pytest.mark.parametrize("wrong", [no_owner_is_forgotten, every_owner_is_forgotten])
def test_a_map_of_partitions_that_is_not_what_members_hold_is_found(
    wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_current", wrong)
    assert finder(CONSUMER_RULES) is not None


def test_an_assignor_that_moves_everything_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        assignors, "_kept", lambda asked, name, topics, quota: ([], sorted(asked.target[name]))
    )
    assert finder(CONSUMER_RULES) is not None


def test_the_rules_stand_in_a_table_of_their_own() -> None:
    assert {one.function for one in RULES.values()}.isdisjoint(
        one.function for one in CONSUMER_RULES.values()
    )
    named = {slug for slugs in CONSUMER_HANDLERS.values() for slug in slugs}
    assert named == {slug for slug, one in CONSUMER_RULES.items() if not one.decides}
    for one in CONSUMER_RULES.values():
        assert one.source
        assert one.title.endswith(".")
