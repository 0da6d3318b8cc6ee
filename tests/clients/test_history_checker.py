"""The checker finds nothing in a good history, and each thing that is doctored into it."""

import pytest

from rota.clients.checker import Rules, violations
from rota.clients.history import Event, History, TimedOut, told

GOOD = """
A subscribe 0 t
A assigned 1 t/0 t/1
A view 1 t/0 t/1
test stable 0 A : t/0 t/1
A record 1 t/0@0 t/1@0 t/1@1
B subscribe 0 t
A committed 1 t/0@1 t/1@2
A revoked 1 t/0 t/1
A assigned 2 t/0
B assigned 2 t/1
A view 2 t/0
B view 2 t/1
test stable 0 A B : t/0 t/1
A record 2 t/0@1
B record 2 t/1@2
B fetched 2 t/1@2
A committed 2 t/0@2
B record 2 t/1@3
A killed
B committed 2 t/1@4
B revoked 2 t/1
B assigned 3 t/0 t/1
B view 3 t/0 t/1
test stable 0 B : t/0 t/1
B record 3 t/0@2 t/1@4
B sought 3 t/1@3
B record 3 t/1@3 t/1@4
B committed 3 t/0@3 t/1@5
B revoked 3 t/0 t/1
B closed
test produced 0 t/0@0 t/0@1 t/0@2 t/1@0 t/1@1 t/1@2 t/1@3 t/1@4
"""
"""One line an event, or several that share their beginning: who, kind, generation, and what it is about."""


def partitions(words):
    return frozenset((topic, int(index)) for topic, _, index in (word.partition("/") for word in words))


def place(word):
    where, _, offset = word.partition("@")
    ((topic, index),) = partitions([where])
    return (topic, index), None if offset == "None" else int(offset)


def parsed(text):
    """Events from lines. A name may be followed by a member id that is not its own: B=A. A record may have a
    value that is not its own: t/0@1=x. A library may own something else: view 1 t/0 | t/1."""
    events, looks = [], {}
    for t, line in enumerate(filter(None, map(str.strip, text.splitlines()))):
        (who, _, member_id), kind, *rest = (line.split()[0].partition("="), *line.split()[1:])
        generation, words = (int(rest[0]) or -1, rest[1:]) if rest else (-1, [])
        if kind in ("record", "produced", "sought"):
            for number, word in enumerate(words):
                word, _, value = word.partition("=")
                at = dict(zip(("partition", "offset"), place(word), strict=True), value=value or word)
                events.append(Event(t + number / 100, who, kind, generation, member_id or who, at))
            continue
        more = {"partitions": partitions(words)} if kind in ("assigned", "revoked", "lost") else {}
        if kind == "subscribe":
            more = {"topics": " ".join(words), "pattern": None}
        elif kind in ("committed", "fetched"):
            more = {"offsets": dict(map(place, words))}
        elif kind == "error":
            more = {"what": words[0], "error": " ".join(words[1:])}
        elif kind == "view":
            owned, _, library = " ".join(words).partition(" | ")
            more = {
                "owned": partitions(owned.split()),
                "library_owns": partitions((library or owned).split()),
            }
            looks[who] = t
        elif kind == "stable":
            names, wanted = words[: words.index(":")], words[words.index(":") + 1 :]
            more = {"views": {name: looks[name] for name in names}, "partitions": partitions(wanted)}
        events.append(Event(t, who, kind, generation, member_id or who, more))
    return events


def test_a_good_history_has_no_violations():
    assert violations(parsed(GOOD)) == []


DOCTORED = {
    "two owners, the first still holding": (
        "B assigned 2 t/1",
        "B assigned 2 t/0 t/1",
        "which A still holds",
    ),
    "two owners in a generation": (
        "A assigned 2 t/0\n",
        "A assigned 2 t/0 t/1\nA revoked 2 t/1\n",
        "t/1 belongs to A in generation 2",
    ),
    "not revoked before another gets it": (
        "A revoked 1 t/0 t/1",
        "A revoked 1 t/0",
        "is given t/1, which A still",
    ),
    "a record of another's": ("A record 2 t/0@1", "A record 2 t/0@1 t/1@2", "A: sees t/1@2 without holding"),
    "a record before the assignment": (
        "B subscribe 0 t",
        "B subscribe 0 t\nB record 1 t/1@2",
        "t/1 belongs to A in generation 1",
    ),
    "a record twice": ("B record 2 t/1@3", "B record 2 t/1@3 t/1@3", "sees t/1@3 where offset 4 is next"),
    "a record left out": (
        "A record 1 t/0@0 t/1@0 t/1@1",
        "A record 1 t/0@0 t/1@1",
        "t/1@1 where offset 0 is next",
    ),
    "a record that nobody sees": (
        "t/1@2 t/1@3 t/1@4\n",
        "t/1@2 t/1@3 t/1@4 t/0@3\n",
        "the record t/0@3 was seen by nobody",
    ),
    "a record that nobody produced": (
        "t/0@0 t/0@1 t/0@2 t/1@0",
        "t/0@0 t/0@1 t/1@0",
        "which nobody has produced",
    ),
    "a record with another value": (
        "B record 2 t/1@3",
        "B record 2 t/1@3=x",
        "sees 'x' at t/1@3, not 't/1@3'",
    ),
    "not from the beginning": (
        "A record 1 t/0@0 t/1@0",
        "A record 1 t/0@1 t/1@0",
        "sees t/0@1 where offset 0",
    ),
    "not from the committed offset": (
        "B record 2 t/1@2\n",
        "B record 2 t/1@1\n",
        "t/1@1, which A has seen and not",
    ),
    "a commit is forgotten": (
        "B record 3 t/0@2 t/1@4",
        "B record 3 t/0@0 t/1@4",
        "t/0@0, which A has seen and not",
    ),
    "a commit is lost on the way": (
        "B fetched 2 t/1@2",
        "B fetched 2 t/1@None",
        "told t/1@None, committed is 2",
    ),
    "a commit before a hand-over is missing": (
        "A committed 1 t/0@1 t/1@2\n",
        "",
        "sees t/0@1 where offset 0 is next",
    ),
    "a commit goes back": ("B committed 2 t/1@4", "B committed 2 t/1@1", "commits t/1@1 behind 2"),
    "a commit of another's": (
        "A committed 2 t/0@2",
        "A committed 2 t/0@2 t/1@2",
        "without holding the partition",
    ),
    "a topic that was not subscribed": (
        "A assigned 2 t/0\n",
        "A assigned 2 t/0 u/0\n",
        "u/0, whose topic it has not",
    ),
    "a generation that goes back": ("B assigned 3 t/0 t/1", "B assigned 1 t/0 t/1", "back from 2 to 1"),
    "two members with one id": ("B assigned 2 t/1", "B=A assigned 2 t/1", "has the member id of A"),
    "members in different generations": ("B view 2 t/1", "B view 3 t/1", "stable, but A in 2, B in 3"),
    "a partition that nobody has": ("B assigned 2 t/1\n", "", "stable, but t/1 is held by nobody"),
    "a library with its own idea": (
        "B view 2 t/1",
        "B view 2 t/1 | t/0",
        "B's library does not own what it was",
    ),
    "a revocation of another's": (
        "B revoked 2 t/1",
        "B revoked 2 t/1 t/0",
        "gives up t/0, which it does not hold",
    ),
    "a loss of another's": ("B revoked 2 t/1", "B lost 2 t/1 t/0", "loses t/0, which it does not hold"),
    "a seek in another's": (
        "B record 2 t/1@3",
        "B record 2 t/1@3\nB sought 2 t/0@1",
        "seeks in t/0 without holding",
    ),
    "an error": ("B record 2 t/1@3", "B record 2 t/1@3\nB error 2 poll it broke", "error in poll: it broke"),
}
"""What is wrong → what is replaced in the good history, by what, and what the checker says to it."""


@pytest.mark.parametrize("name", DOCTORED)
def test_a_doctored_history_is_found(name):
    old, new, says = DOCTORED[name]
    assert GOOD.count(old) == 1, "the doctor's knife slips"
    wrong = violations(parsed(GOOD.replace(old, new)))
    assert any(says in line for line in wrong), wrong


FROZEN = """
A subscribe 0 t
A assigned 1 t/0
A record 1 t/0@0 t/0@1
A frozen
B subscribe 0 t
B assigned 2 t/0
B record 2 t/0@0 t/0@1 t/0@2
B committed 2 t/0@3
A record 1 t/0@2
A lost 1 t/0
B revoked 2 t/0
test produced 0 t/0@0 t/0@1 t/0@2
"""


def test_what_a_frozen_member_has_not_committed_comes_again():
    """And what it sees after it has lost the partition without knowing counts for nothing."""
    assert violations(parsed(FROZEN)) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("A record 1 t/0@2", "A committed 1 t/0@2", "A: could commit t/0@2 without holding the partition"),
        ("A frozen\n", "", "which A still holds"),
        ("B record 2 t/0@0 t/0@1 t/0@2", "B record 2 t/0@1", "sees t/0@1 where offset 0 is next"),
    ],
)
def test_a_frozen_member_may_not_do_everything(old, new, says):
    assert any(says in line for line in violations(parsed(FROZEN.replace(old, new))))


REFUSED = """
A subscribe 0 t
A assigned 1 t/0
A record 1 t/0@0
A error 1 commit REBALANCE_IN_PROGRESS
A revoked 1 t/0
A assigned 2 t/0
A record 2 t/0@0
test produced 0 t/0@0
"""


def test_what_could_not_be_committed_comes_again_where_that_error_may_be():
    assert violations(parsed(REFUSED), Rules(errors="REBALANCE")) == []
    assert len(violations(parsed(REFUSED))) == 2


def test_without_commits_on_revoke_records_come_again():
    text = REFUSED.replace("A error 1 commit REBALANCE_IN_PROGRESS\n", "")
    assert violations(parsed(text), Rules(commit_on_revoke=False)) == []
    (wrong,) = violations(parsed(text))
    assert "sees t/0@0, which A has seen and not lost" in wrong


def test_from_the_end_any_first_offset_will_do_and_some_records_are_not_seen():
    text = REFUSED.replace("A error 1 commit REBALANCE_IN_PROGRESS\n", "").replace("A record 2 t/0@0\n", "")
    text = text.replace("A record 1 t/0@0", "A record 1 t/0@4").replace(
        "produced 0 t/0@0", "produced 0 t/0@3 t/0@4"
    )
    assert violations(parsed(text), Rules(from_start=False, complete=False)) == []
    assert len(violations(parsed(text))) == 2


def test_a_wait_in_vain_shows_the_history():
    history = History(patience=0.01)
    for event in parsed(REFUSED):
        history.add(event)
    with pytest.raises(TimedOut, match=r"waited 0.01 s in vain until pigs fly\n.* A +subscribe") as caught:
        history.wait("pigs fly", lambda: False)
    assert told(history.events()) in str(caught.value)
