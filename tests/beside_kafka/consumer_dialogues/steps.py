"""What a dialogue consists of: steps, each of which plays itself on a stage and tells what came of it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from beside_kafka.consumer_dialogues.stage import Request, Stage, error, words

Step = Callable[[Stage], None]
Asks = Callable[[Stage, Sequence[Request]], list[dict[str, Any]]]


@dataclass(frozen=True)
class Dialogue:
    """A dialogue; the slug names what it shows, the point says it in a sentence or two."""

    slug: str
    point: str
    steps: tuple[Step, ...]

    def text(self, stage: Stage) -> str:
        """Play it."""
        for step in self.steps:
            step(stage)
        point = textwrap.fill(self.point, 100)
        return "\n".join((self.slug, "", point, "", *(f"  {line}" for line in stage.lines), ""))


@dataclass(frozen=True)
class Asked:
    """A request as a step; it may also be sent beside others, before any of them is answered.

    who: begins its lines; what: tells the request, answered its answer.
    """

    who: str
    what: str
    api: str
    version: int
    body: Callable[[Stage], dict[str, Any]]
    answered: Callable[[Stage, dict[str, Any]], str]

    def __call__(self, stage: Stage) -> None:
        """Ask, and wait for the answer."""
        body = self.body(stage)
        self.tell(stage)
        self.tell_answer(stage, stage.ask(self.api, self.version, body))

    def tell(self, stage: Stage) -> None:
        stage.tell(f"{self.who}> {self.what}")

    def tell_answer(self, stage: Stage, answer: dict[str, Any]) -> None:
        stage.tell(f"{self.who}< {self.answered(stage, answer)}")


def at_once(*requests: Asked) -> Step:
    """Requests on one connection, all of them sent before the first is answered."""
    return _under_way("at once, on one connection:", lambda stage, some: stage.ask_at_once(some), requests)


def beside(*requests: Asked) -> Step:
    """Requests on a connection each, all of them sent before the first is answered: the order is open."""
    return _under_way("at once, on a connection each:", lambda stage, some: stage.ask_beside(some), requests)


def _under_way(what: str, ask: Asks, requests: Sequence[Asked]) -> Step:
    def play(stage: Stage) -> None:
        stage.tell(what)
        for one in requests:
            one.tell(stage)
        answers = ask(stage, [(one.api, one.version, one.body(stage)) for one in requests])
        for one, answer in zip(requests, answers, strict=True):
            one.tell_answer(stage, answer)

    return play


HEARTBEAT = "ConsumerGroupHeartbeat"
FIELDS = {
    "timeout": "rebalance timeout",
    "topics": "topics",
    "regex": "expression",
    "assignor": "assignor",
    "rack": "rack",
    "instance": "instance",
    "owns": "owns",
}


def beat(member: str, epoch: int, version: int = 1, **said: Any) -> Asked:
    """A heartbeat that says what is named of `FIELDS`; owns="t0 t1" are partitions, topics="t u" names."""

    who = member if member.strip() else repr(member)
    what = f"epoch {epoch}{said_words(said)}{' (v0)' if version == 0 else ''}"
    values = partial(body, member=member, epoch=epoch, said=said)
    return Asked(f"{who} ", what, HEARTBEAT, version, values, partial(answered, member=member))


def join(member: str, topics: str = "t", **more: Any) -> Asked:
    """The first heartbeat of a member."""
    return full(member, 0, topics, "", **more)


def full(member: str, epoch: int, topics: str, owns: str, **more: Any) -> Asked:
    """A heartbeat that says all that the broker wants to know."""
    return beat(member, epoch, **({"timeout": 60_000, "topics": topics, "owns": owns} | more))


def leave(member: str, epoch: int = -1) -> Asked:
    """A member leaves."""
    return beat(member, epoch)


def body(stage: Stage, member: str, epoch: int, said: Mapping[str, Any]) -> dict[str, Any]:
    group = said.get("group", stage.group)
    values: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": epoch}
    values["rebalance_timeout_ms"] = said.get("timeout", -1)
    plain = {"regex": "subscribed_topic_regex", "assignor": "server_assignor"}
    plain |= {"rack": "rack_id", "instance": "instance_id"}
    values |= {field: said[name] for name, field in plain.items() if name in said}
    if "topics" in said:
        values["subscribed_topic_names"] = [stage.name(one) for one in said["topics"].split()]
    if "owns" in said:
        values["topic_partitions"] = stage.partitions(said["owns"])
    return values


def said_words(said: Mapping[str, Any]) -> str:
    texts = {"topics": lambda one: f"[{one}]", "owns": lambda one: f"[{one}]"}
    shown = (
        f", {words_of} {texts.get(name, repr)(said[name])}"
        for name, words_of in FIELDS.items()
        if name in said
    )
    return "".join(shown)


def answered(stage: Stage, answer: Mapping[str, Any], member: str) -> str:
    if answer["error_code"]:
        return error(answer["error_code"])
    who = "" if answer["member_id"] == member else ", told an id" if answer["member_id"] else ", told no id"
    given = answer["assignment"]
    news = "no assignment told" if given is None else f"assignment {stage.told(given['topic_partitions'])}"
    return f"epoch {answer['member_epoch']}{who}, {news}"


def closes(what: str, version: int, **odd: Any) -> Step:
    """A heartbeat upon which the broker closes the connection."""

    def play(stage: Stage) -> None:
        ends = stage.ends(HEARTBEAT, version, {"group_id": stage.group, "member_id": "m1"} | odd)
        stage.tell(f"{what}: {'the connection is closed' if ends else 'answered'}")

    return play


def describe(version: int = 1) -> Step:
    """ConsumerGroupDescribe."""

    def play(stage: Stage) -> None:
        found = stage.described(version)
        if found["error_code"]:
            stage.tell(f"described: {error(found['error_code'])}, state {found['group_state']!r}")
            return
        epochs = f"group epoch {found['group_epoch']}, assignment epoch {found['assignment_epoch']}"
        stage.tell(f"described: {found['group_state']}, {epochs}, assignor {found['assignor_name']}")
        for text in sorted(member_words(stage, one) for one in found["members"]):
            stage.tell(f"  {text}")

    return play


def member_words(stage: Stage, one: Mapping[str, Any]) -> str:
    topics = words(sorted(map(stage.label, one["subscribed_topic_names"])))
    has, wants = (stage.told(one[name]["topic_partitions"]) for name in ("assignment", "target_assignment"))
    who = one["member_id"] if len(one["member_id"]) < 10 else "an id that the broker made"
    kind = f", type {one['member_type']}" if "member_type" in one else ""
    return f"{who}: epoch {one['member_epoch']}, topics {topics}, assignment {has}, target {wants}{kind}"


def topic(name: str, count: int) -> Step:
    """A topic is made."""
    return _of_topics(
        f"topic {name} is made with partitions: {count}", lambda stage: stage.create(name, count)
    )


def grows(name: str, count: int) -> Step:
    """A topic grows."""
    return _of_topics(f"topic {name} grows to partitions: {count}", lambda stage: stage.grow(name, count))


def deleted(name: str) -> Step:
    """A topic is deleted."""
    return _of_topics(f"topic {name} is deleted", lambda stage: stage.delete(name))


def _of_topics(what: str, do: Callable[[Stage], None]) -> Step:
    def play(stage: Stage) -> None:
        do(stage)
        stage.tell(what)

    return play


def settings(**values: int) -> Step:
    """The group's own settings, with underscores for dots."""
    names = {name.replace("_", "."): value for name, value in values.items()}
    said = ", ".join(f"{name}={value}" for name, value in names.items())
    return _of_topics(f"the group's settings: {said}", lambda stage: stage.configure(names))


def waits_until_gone(member: str) -> Step:
    """Time passes until the group has no such member."""

    def play(stage: Stage) -> None:
        def gone() -> bool:
            return member not in [one["member_id"] for one in stage.described()["members"]]

        stage.until(gone, f"{member} stays in the group")
        stage.tell(f"{member} is silent until it is removed")

    return play


def call(
    api: str, version: int, told: Callable[[Stage, dict[str, Any]], str], what: str, **values: Any
) -> Asked:
    """Any other request; in its values a function is asked with the stage."""

    def body(stage: Stage) -> dict[str, Any]:
        return {name: value(stage) if callable(value) else value for name, value in values.items()}

    return Asked("", f"{api} v{version}: {what}", api, version, body, told)


def removed(*members: str) -> Step:
    """LeaveGroup of several members."""

    def play(stage: Stage) -> None:
        leaving = [{"member_id": member} for member in members]
        answer = stage.ask("LeaveGroup", 5, {"group_id": stage.group, "members": leaving})
        outcomes = " ".join(error(one["error_code"]) for one in answer["members"])
        stage.tell(f"> LeaveGroup v5: {', '.join(members)}")
        stage.tell(f"< {error(answer['error_code'])}; {outcomes}")

    return play


def goes_on_until(member: str, epoch: int, code: str) -> Step:
    """Heartbeats that say nothing, until one is answered with an error."""

    def play(stage: Stage) -> None:
        def refused() -> bool:
            answer = stage.ask(HEARTBEAT, 1, body(stage, member, epoch, {}))
            assert error(answer["error_code"]) in ("NONE", code), answer
            return error(answer["error_code"]) == code

        stage.until(refused, f"{member} is never answered {code}")
        stage.tell(f"{member} > epoch {epoch}, again and again")
        stage.tell(f"{member} < at last {code}")

    return play


def codes(*path: str) -> Callable[[Stage, dict[str, Any]], str]:
    """Tells the error codes at the end of a path of lists."""

    def told(stage: Stage, answer: dict[str, Any]) -> str:
        found: Sequence[dict[str, Any]] = [answer]
        for name in path:
            found = [each for one in found for each in one[name]]
        return " ".join(error(one["error_code"]) for one in found)

    return told
