"""Whatever stands in a log, reading goes on; and what rota's server prints is what its reader knows."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from harness.logs_golden import PROGRAMS, bare, events_of, golden
from rota.coordinator import Notice
from rota.history import Kind, event_of, line_of
from rota.logs.patterns import Pattern
from rota.logs.rota_server import SERVER
from rota.server.log_lines import SENTENCES, line

MEMBER, OLD = "consumer-1-7b20c3f4", "till-3-9d81aa02"


def altered(text: str, chance: random.Random) -> str:
    """A line with something out of its place."""
    place, other = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    return chance.choice(
        (
            text[:place],
            text[other:],
            text[:place] + text[other:],
            text[:place] + chance.choice("\0\t\x1b[](){}\"'%|:,= é€\ud800") + text[place:],
            text[:other] + text[place:],
            text.replace(chance.choice(text.split()), "", 1),
            text.replace("4", "9" * chance.choice((19, 30, 5000)), 1),
            json.dumps({"message": text, "time": chance.choice((1e308, -1, "x", None, [], {}, True))}),
        )
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_lines_that_are_altered_end_nothing(program: str, tmp_path: Path) -> None:
    chance = random.Random(program)
    printed = PROGRAMS[program]
    lines = [printed.line(one.sentence) for one in golden() if one.program == program]
    broken = [altered(chance.choice(lines), chance) for _ in range(1500)]
    broken = [one.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for one in broken]
    last = printed.line(next(one.sentence for one in golden() if one.program == program and one.events))
    events = events_of([*broken, last], tmp_path)
    assert len(events) > 300
    assert events[-1].origin.startswith("server.log:")
    assert [bare(event_of(line_of(one))) for one in events] == [bare(one) for one in events]


@pytest.mark.parametrize(
    "text",
    [
        '{"message": "[GroupCoordinator 1]: Starting up.", "instant": {"epochSecond": "x"}}',
        '{"message": "[GroupCoordinator 1]: Starting up.", "timeMillis": Infinity}',
        '{"message": "[GroupCoordinator 1]: Starting up.", "timeMillis": 1' + "0" * 400 + "}",
        '{"group":' + "[" * 100_000 + "]" * 100_000 + ', "b": "}',
        '{"MESSAGE":["GroupCoordinator", 1000]}',
        "[GroupCoordinator",
        "[GroupId ] group",
    ],
)
def test_what_only_looks_like_a_line_ends_nothing(text: str, tmp_path: Path) -> None:
    assert events_of([text], tmp_path) == []


def test_a_name_made_to_be_slow_is_not(tmp_path: Path) -> None:
    """Read place by place, in every way, this would take longer than anybody waits."""
    name = (
        "memberId=a, groupInstanceId=a, clientId=a, clientHost=a, sessionTimeoutMs=1, rebalanceTimeoutMs=1, "
        * 500
    )
    sentence = f"Member MemberMetadata({name} has left group orders through explicit `LeaveGroup`"
    (event,) = events_of([PROGRAMS["kafka_scala"].line(sentence)], tmp_path)
    assert event.kind is Kind.UNREAD


def test_a_short_name_may_have_the_words_in_it_that_follow() -> None:
    pattern = Pattern("Group {group} with generation {generation} is now empty.", Kind.EMPTY, "", "")
    found = pattern.values("Group a with generation x with generation 4 is now empty.")
    assert found == {"group": "a with generation x", "generation": 4}


@pytest.mark.parametrize("instance", [None, "till-3"])
@pytest.mark.parametrize("event", SENTENCES)
def test_what_rotas_server_prints_is_read(event: str, instance: str | None) -> None:
    notice = Notice(
        event, "orders", "Stable", 4, 3, 1, MEMBER, instance, OLD, (MEMBER,), "client reason: none"
    )
    if event == "joined_with_id" or "pending" in event or event in ("id_given", "not_returned"):
        instance = None  # of these the sentence does not tell it
    found = SERVER.find(line(notice))
    if event == "replaced" and notice.group_instance_id is None:
        return  # only static members are replaced
    assert found is not None, line(notice)
    values = found[1]
    assert values["group"] == "orders"
    assert values.get("generation", 4) == 4
    assert values.get("member", MEMBER) == MEMBER
    if event in ("joined", "replaced", "failed", "left"):
        assert values.get("instance") == instance


def test_every_pattern_of_rotas_server_is_of_a_sentence() -> None:
    printed = set()
    for event in SENTENCES:
        for instance in (None, "till-3"):
            notice = Notice(
                event, "g", "Stable", 4, 3, 1, MEMBER, instance, OLD, (MEMBER,), "client reason: none"
            )
            found = SERVER.find(line(notice))
            printed |= {found[0].text} if found else set()
    assert {one.text for one in SERVER.patterns} == printed
