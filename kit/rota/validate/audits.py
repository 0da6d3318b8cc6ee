"""What can be held against sources that tell less than frames, and what each can never show."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "broker-log": {
        "generation.grows-by-completed-joins": "As long as one coordinator has the group, no generation is "
        "stabilised twice, and none is prepared or stabilised after a later one.",
        "state.legal-transition": "Nothing prepares a rebalance that is being prepared already.",
        "join.one-leader-per-generation": "One member brings the assignment of a generation, unless it was "
        "replaced.",
        "join.membership-fixed-in-a-generation": "An assignment is for as many members as its generation "
        "began with.",
    },
    "offsets": {
        "join.leader-is-a-member": "The leader that is stored is one of the members that are stored.",
        "static.one-member-per-instance": "No two members of a group have one instance id, and none is "
        "stored twice.",
        "shape.fields-match-state": "A group without members has no leader and no protocol; one with members "
        "has both.",
        "generation.grows-by-completed-joins": "Until a group is removed its generation never goes back.",
        "join.membership-fixed-in-a-generation": "A generation that is stored again has the same members, "
        "but for static ones that were replaced.",
    },
    "several": {
        "sync.as-stored": "Who leads a generation, and who its members are, is the same in the offsets "
        "topic, in the log and in frames.",
        "join.list-is-the-membership": "As many members as the log tells of a generation are in its record, "
        "and in its leader's list.",
    },
}
"""Kind of source → rule → what of it is checked there. The rules are claims about the spec."""

NEVER: Mapping[str, tuple[str, ...]] = {
    "frames": (
        "what the log stores, and whether a record was refused",
        "members whose requests do not pass the recorder",
        "ends of transactions that no producer in it asks for",
        "what happened before the group's state was told",
        "offsets that were committed before",
    ),
    "broker-log": (
        "requests and their answers, heartbeats and commits",
        "which member was told what, and in time",
        "assignments",
        "lines below the level that is logged",
    ),
    "client-log": ("whether what one client was told agrees with what others were told",),
    "offsets": (
        "rebalances between two records, and what compaction has taken away",
        "requests and their answers, heartbeats and timers",
        "who committed an offset, and in which generation",
    ),
    "described": ("how a group came to where it is",),
}
"""Kind of source → what it can never show."""


def table() -> list[str]:
    """What each source can never show, as lines of a table in Markdown."""
    rows = [f"| {source} | {'; '.join(lacks)} |" for source, lacks in NEVER.items()]
    return ["| source | never shows |", "|---|---|", *rows]


def rules() -> list[str]:
    """What is checked of sources that tell less than frames, as lines of a table in Markdown."""
    told = {"several": "several together"}
    rows = [
        f"| {told.get(source, source)} | `{rule}` | {sentence} |"
        for source, sentences in SENTENCES.items()
        for rule, sentence in sentences.items()
    ]
    return ["| source | rule | what of it is checked |", "|---|---|---|", *rows]
