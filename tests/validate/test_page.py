"""What the page says of sources and rules is what the code says; `rota validate` as a user runs it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness import scenes
from harness.recorded_frames import recorded
from rota.cli.main import main
from rota.history import line_of
from rota.linearise.judgement import ALONE, Nearest
from rota.mutants.core import core_bugs, planted
from rota.validate.account import Account, Violation
from rota.validate.audits import rules, table
from rota.validate.page import IN_FULL, in_full, page
from rota.validate.said import by_difference, near_in_brief

PAGE = Path(__file__).parents[2] / "docs" / "validating.md"
SETTINGS = [part for name, value in scenes.SETTINGS.items() for part in ("--set", f"{name}={value}")]


@pytest.mark.parametrize("lines", [table, rules])
def test_the_page_has_the_tables_of_the_code(lines):
    assert "\n".join(lines()) in PAGE.read_text(encoding="utf-8")


def run(*arguments, code):
    """What a call prints; it ends with this code."""
    result = CliRunner().invoke(main, ["validate", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def bad(tmp_path):
    """A recording of a coordinator with a bug."""
    with planted(core_bugs()["described-while-rebalancing"]):
        return written(tmp_path / "bad.jsonl", recorded(scenes.late_members, "kafka-4.x"))


def written(path, events):
    """Events as a file."""
    path.write_text("".join(f"{line_of(event)}\n" for event in events), encoding="utf-8")
    return path


def test_a_sound_recording(tmp_path):
    good = written(tmp_path / "good.jsonl", recorded(scenes.sessions, "kafka-4.x"))
    assert run(good, *SETTINGS, code=0).splitlines()[-1] == "holds: 1 group, 20 of 22 events judged"
    told = run(good, *SETTINGS, code=0)
    assert "assumed: profile=kafka-4.x, group.max.session" in told
    assert "group.consumer" not in told, "by which nothing is judged"
    found = json.loads(run(good, *SETTINGS, "--json", code=0))
    parts = [found[name] for name in ("not_checked", "undecided")]
    apart = sum(one["events"] for part in parts for one in part)
    assert found["events"] == found["judged"] + apart + found["quarantined"] == 22
    assert (found["schema"], found["verdict"], found["histories"]) == (1, "holds", 1)


def test_a_violation_in_every_form(bad, tmp_path):
    told = run(bad, *SETTINGS, code=1)
    assert "violated: admin.describe, group late_members, at late_members.jsonl#32" in told
    assert "c ← JoinGroup  NONE  generation 2" in told
    paths = {kind: tmp_path / f"report.{kind}" for kind in ("junit", "html", "md")}
    reports = [part for kind, path in paths.items() for part in ("--report", f"{kind}={path}")]
    run(bad, *SETTINGS, *reports, code=1)
    case = ET.parse(paths["junit"]).find("testsuite/testcase")
    assert case.get("name") == "late_members"
    assert case.find("failure").get("type") == "admin.describe"
    for kind in ("html", "md"):
        text = paths[kind].read_text(encoding="utf-8")
        assert "admin.describe" in text
        assert "JoinGroup" in text
    (violation,) = json.loads(run(bad, *SETTINGS, "--json", code=1))["violations"]
    assert violation["rule"] == "admin.describe"
    assert violation["line"] in violation["lines"]


def line_of_log(second, words):
    """A line as Kafka 4 writes it."""
    logger = "org.apache.kafka.coordinator.group.GroupMetadataManager"
    return f"[2026-11-23 02:00:{second:02},000] INFO [GroupCoordinator id=1] {words} ({logger})\n"


def log_of(members):
    """A log whose second generation is assigned to so many members; one has joined."""
    return "".join(
        (
            line_of_log(1, "Stabilized group orders generation 1 with 1 members."),
            line_of_log(2, "Stabilized group orders generation 2 with 1 members."),
            line_of_log(3, "Assignment received from leader a-1 for group orders for generation 2. "
                           f"The group has {members} members, 0 of which are static."),
        )
    )  # fmt: skip


@pytest.fixture
def two_clusters(tmp_path):
    """Logs of groups of one name; the one in the east is wrong."""
    for name, members in (("east", 3), ("west", 1)):
        path = tmp_path / f"cluster={name}" / "broker-1" / "server.log"
        path.parent.mkdir(parents=True)
        path.write_text(log_of(members), encoding="utf-8")
    return tmp_path


def test_groups_of_one_name_in_two_clusters(two_clusters, tmp_path):
    table = tmp_path / "verdicts.jsonl"
    found = json.loads(run(two_clusters, "--json", "--report", f"verdicts={table}", code=1))
    assert (found["histories"], found["groups"], found["found"], found["events"]) == (2, 2, 1, 6)
    assert [one["history"] for one in found["violations"]] == ["east/orders"]
    rule = "join.membership-fixed-in-a-generation"
    assert [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()] == [
        row_of("east", "violated", {rule: 1}),
        row_of("west", "holds", {}),
    ]


def row_of(cluster, verdict, rules):
    """What the table has of the group: its first generation is told by nothing before."""
    counts = {"judged": 2, "quarantined": 0, "not_checked": 1, "undecided": 0, "violations": len(rules)}
    named = {"cluster": cluster, "group": "orders", "verdict": verdict}
    return {**named, **counts, "rules": rules, "causes": {}}


def test_without_a_name_it_is_one_cluster(two_clusters):
    for name in ("east", "west"):
        (two_clusters / f"cluster={name}").rename(two_clusters / name)
    found = json.loads(run(two_clusters, "--json", code=1))
    assert (found["histories"], found["events"]) == (1, 6)
    assert [one["history"] for one in found["violations"]] == ["orders"]


def test_only_one_group_and_only_since(bad):
    assert json.loads(run(bad, "--group", "another", "--json", code=5))["groups"] == 0
    assert json.loads(run(bad, "--since", "2100-01-01", "--json", code=5))["judged"] == 0


def test_what_tells_nothing_of_groups(tmp_path):
    path = tmp_path / "empty.jsonl"
    written(path, recorded(scenes.sessions, "kafka-4.x")[:1])
    assert "nothing about groups was found" in run(path, code=5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--profile", "kafka-4"), "did you mean kafka-4.x"),
        (("--set", "nothing=1"), "cannot read the setting"),
        (("--report", "pdf=x"), "write junit=PATH, html=PATH, md=PATH or verdicts=PATH"),
        (("--since", "whenever"), "--since"),
    ],
)
def test_what_cannot_be_asked(bad, arguments, words):
    assert words in run(bad, *arguments, code=2)


def of_two_rules():
    """What a page is made of that has more violations of one rule than are shown, and then one of another."""
    account = Account()
    many = ["join.barrier"] * (IN_FULL + 50)
    for number, rule in enumerate((*many, "leave.member")):
        account.violate(Violation(f"group-{number}", rule, "it is not so", f"night.jsonl#{number}"))
    return account


def test_the_first_violation_of_each_rule_is_shown_in_full():
    account = of_two_rules()
    shown = in_full(account)
    assert len(shown) == IN_FULL
    assert shown == sorted({*range(IN_FULL - 1), len(account.violations) - 1})


def test_a_page_of_many_groups_begins_with_the_rules_and_leads_to_what_it_shows():
    account = of_two_rules()
    text = page(account, "night.jsonl")
    first, second = text.index("<code>join.barrier</code></th>"), text.index("<code>leave.member</code></th>")
    assert first < second < text.index("151 groups, and which rules each breaks")
    linked = set(re.findall(r'href="#(violation-\d+)"', text))
    assert linked <= set(re.findall(r'id="(violation-\d+)"', text))
    assert f"violation-{len(account.violations)}" in linked
    assert "51 more are in the tables alone" in text


def test_what_was_possible_by_itself_is_told_after_what_differs():
    alone = Nearest(("join.barrier",), "Stable", ())
    differs = Nearest(("join.leader",), "Stable", (("leader", "b", "c"), ("metadata", bytes(50), b"")))
    assert by_difference([alone, differs]) == [differs, alone]
    assert near_in_brief(differs) == (
        'leader "b", not "c", metadata 50 bytes, not b\'\' by join.leader (group Stable)'
    )
    assert ALONE in near_in_brief(alone)
