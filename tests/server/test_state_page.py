"""The state page of the control port: groups as they are now, for a person."""

from __future__ import annotations

import http.client
import re
from html.parser import HTMLParser

import pytest

from rota.control.http import ControlPort
from rota.mutants.core import CoreBug, planted
from rota.server import controlled
from rota.wire.consumer import encode_assignment, encode_subscription

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(1)>"


class Read(HTMLParser):
    """The elements of a page, and its rows of cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.rows, self.text, self.in_cell = [], [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

        self.in_cell = tag in ("td", "th")

    def handle_endtag(self, tag):
        self.in_cell = False

    def handle_data(self, data):
        self.text += data
        if self.in_cell:
            self.rows[-1][-1] += data


@pytest.fixture
def held():
    with controlled(brokers=2) as broker:
        port = ControlPort(broker._controls, broker._loop)
        try:
            yield broker, port.port
        finally:
            port.stop()


def asked(port, path="/", method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(
            method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def shown(held, member):
    """A group with a member, an offset, a topic, whose client calls itself oddly."""
    broker, port = held
    broker.create_topic("t", 4)
    node = broker._controls.placement.of_group("g")
    only = member(broker.bootstrap.split(",")[node - 1], HOSTILE)
    only.join(protocols=[{"name": "range", "metadata": encode_subscription({"topics": ["t"]})}])
    mine = {"topic": "t", "partitions": [0, 3]}
    only.sync(assignments={only.member_id: encode_assignment({"assigned_partitions": [mine]})})
    partition = {"partition_index": 3, "committed_offset": 41, "committed_metadata": "<b>"}
    place = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": only.member_id}
    (told,) = only.call("OffsetCommit", 8, **place, topics=[{"name": "t", "partitions": [partition]}])[
        "topics"
    ]
    assert told["partitions"][0]["error_code"] == 0
    broker.error("Heartbeat", "REBALANCE_IN_PROGRESS", 2)
    status, headers, text = asked(port)
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in str(headers["Content-Security-Policy"])
    assert 'http-equiv="refresh"' in text
    read = Read(text)
    assert not {"script", "img", "b", "link"} & {*read.tags}
    assert ["bootstrap.servers", broker.bootstrap.replace(",", ", ")] in read.rows
    assert ["Faults to come", "Heartbeat error × 2"] in read.rows
    assert ["t", "4", "0"] in read.rows
    assert ["t", "3", "41", "<b>"] in read.rows
    (row,) = [each for each in read.rows if each[0].startswith(only.member_id)]
    assert row[0] == f"{only.member_id} (leader)"
    assert row[1:4] == [f"{HOSTILE} at 127.0.0.1", "t-0, t-3", ""]
    assert re.fullmatch(r"session in \d+\.\d s", row[4])
    assert f"classic protocol, generation 1, assignor range, coordinated by broker {node}" in read.text
    second = member(broker.bootstrap.split(",")[node - 1], "two")
    second.ask()
    broker.until(lambda groups: groups["g"].state == "PreparingRebalance")
    read = Read(asked(port)[2])
    assert "PreparingRebalance" in read.text
    (row,) = [each for each in read.rows if each[0] == second.member_id]
    assert row[3] == "JoinGroup"


def test_groups_as_they_are_now(held, member):
    shown(held, member)


def test_many_groups_are_counted(held, connect, monkeypatch):
    broker, port = held
    monkeypatch.setattr("rota.control.page.MOST_GROUPS", 2)
    broker.create_topic("t")
    addresses = broker.bootstrap.split(",")
    for name in ("a", "b", "c"):
        client = connect(addresses[broker._controls.placement.of_group(name) - 1])
        topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
        client.call("OffsetCommit", 8, group_id=name, topics=topics)
    text = asked(port)[2]
    assert "1 more groups are not shown." in text
    assert Read(text).text.count("coordinated by broker") == 2


def test_an_empty_server_and_one_that_is_unloaded(held):
    broker, port = held
    assert "There are no groups." in asked(port)[2]
    broker.unload_coordinator()
    assert ["Coordinates groups", "nobody: it is unloaded"] in Read(asked(port)[2]).rows


def strangers_are_refused(held):
    _, port = held
    assert asked(port, Sec_Fetch_Site="none")[0] == 200
    assert asked(port, Sec_Fetch_Site="same-origin")[0] == 200
    for site in ("cross-site", "same-site"):
        assert asked(port, Sec_Fetch_Site=site)[0] == 403
    assert asked(port, Sec_Fetch_Site="same-origin", Origin="http://127.0.0.1")[0] == 403
    assert asked(port, "/groups", Sec_Fetch_Site="same-origin")[0] == 403
    assert asked(port, "/reset", "POST", Sec_Fetch_Site="same-origin")[0] == 403
    assert asked(port, Host="evil.example")[0] == 403


def test_only_the_page_itself_asks_again(held):
    strangers_are_refused(held)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("rota.control.page:_text", "escape(", "("),
        ("rota.control.page:_member", 'member.get("awaits")', 'member.get("")'),
        ("rota.control.page:_group", 'group["members"]', "[]"),
        ("rota.control.http:_Handler._send", '"Content-Security-Policy", POLICY', '"X-Other", POLICY'),
    ],
)
def test_a_planted_bug_is_told(function, old, new, held, member):
    with planted(CoreBug("", "bug", "", function, old, new)), pytest.raises((AssertionError, ValueError)):
        shown(held, member)


@pytest.mark.parametrize(
    ("old", "new"),
    [("urlsplit(self.path).path == PAGE", "True"), ('site == "same-origin"', 'site != "none"')],
)
def test_a_planted_bug_of_who_may_ask_is_told(old, new, held):
    bug = CoreBug("", "bug", "", "rota.control.http:_Handler._check_origin", old, new)
    with planted(bug), pytest.raises(AssertionError):
        strangers_are_refused(held)
