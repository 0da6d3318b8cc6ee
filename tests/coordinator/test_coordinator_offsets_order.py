"""Commits, deletions and fetches at random, the log answering in any order, against a list.

The list is the log: what can be seen is its longest answered beginning, without what failed.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.coordinator import (
    CoordinatorConfig,
    GroupCoordinator,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetDelete,
    OffsetDeleteTopic,
    OffsetFetch,
    OffsetFetchGroup,
    offsets,
)

GROUPS = ("g", "h")
group_ids, indexes, errors = st.sampled_from(GROUPS), st.integers(0, 1), st.sampled_from([0, 0, 0, 16])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), group_ids, indexes, st.integers(0, 9)),
        st.tuples(st.just("delete"), group_ids, indexes),
        st.tuples(st.just("remove"), group_ids),
        st.tuples(st.just("fetch"), st.booleans()),
        st.tuples(st.just("answer"), st.integers(0, 9), errors),
    ),
    max_size=40,
)


class Run:
    """A core and the list. log: entries [what it does, its answer]; awaited: how many, by token."""

    def __init__(self):
        self.core = GroupCoordinator(CoordinatorConfig(), None)
        self.log, self.open, self.awaited, self.replies, self.tokens = [], [], {}, {}, 0

    def do(self, effects):
        for token, reply in effects.replies:
            assert token not in self.replies, "answered twice"
            self.replies[token] = reply
        self.open += [append.append_id for append in effects.appends]
        return len(effects.appends)

    def token(self):
        self.tokens += 1
        return self.tokens

    def write(self, effects, token, *entries):
        """A request that appends one entry each; refused ones append none."""
        appended = self.do(effects)
        assert appended in (0, len(entries))
        self.log += [[entry, None] for entry in entries[:appended]]
        if appended:
            self.awaited[token] = len(self.log)

    def answered(self):
        """How many entries at the beginning have an answer."""
        return next((at for at, (_, answer) in enumerate(self.log) if answer is None), len(self.log))

    def state(self, until):
        """The offsets after so many entries."""
        found = {name: {} for name in GROUPS}
        for (kind, group_id, *rest), answer in self.log[:until]:
            if answer == 0 and kind == "commit":
                found[group_id][rest[0]] = rest[1]
            elif answer == 0 and kind == "delete":
                found[group_id].pop(rest[0], None)
            elif answer == 0:
                found[group_id].clear()
        return found

    def commit(self, group_id, index, offset):
        topic = OffsetCommitTopic("t", (OffsetCommitPartition(index, offset),))
        token = self.token()
        effects = self.core.offset_commit(OffsetCommit(group_id, (topic,)), 9, token, 0)
        self.write(effects, token, ("commit", group_id, index, offset))

    def delete(self, group_id, index):
        request, token = OffsetDelete(group_id, (OffsetDeleteTopic("t", (index,)),)), self.token()
        effects = self.core.offset_delete(request, 0, token, lambda data: ())
        self.write(effects, token, ("delete", group_id, index))

    def remove(self, group_id):
        token = self.token()
        self.write(self.core.delete_groups((group_id,), 2, token), token, ("remove", group_id))

    def fetch(self, stable):
        token = self.token()
        request = OffsetFetch(tuple(OffsetFetchGroup(name, None) for name in GROUPS), stable)
        self.awaited[token] = len(self.log) if stable else self.answered()
        self.do(self.core.offset_fetch(request, 9, token))

    def answer(self, which, error):
        if self.open:
            which %= len(self.open)
            append_id = self.open.pop(which)
            self.log[append_id - 1][1] = error
            self.do(self.core.appended(append_id, error))

    def check(self):
        """Who is answered now, and what fetches were told."""
        until = self.answered()
        for token, place in self.awaited.items():
            assert (token in self.replies) == (place <= until)
            reply = self.replies.get(token)
            if hasattr(reply, "groups"):
                told = {
                    group.group_id: {
                        each.partition_index: each.committed_offset
                        for topic in group.topics
                        for each in topic.partitions
                    }
                    for group in reply.groups
                }
                assert told == self.state(place)
        assert len(self.replies) == self.tokens - sum(place > until for place in self.awaited.values())


def play(script):
    run = Run()
    for kind, *rest in script:
        getattr(run, kind)(*rest)
        run.check()
    while run.open:
        run.answer(-1, 0)
        run.check()


@settings(max_examples=100, deadline=None)
@given(steps)
def test_what_is_seen_is_the_answered_beginning_of_the_log(script):
    play(script)


def test_the_list_notices_an_answer_that_overtakes(monkeypatch):
    def overtaking(step, store):
        for partition, line in tuple(store.deferred._lines.items()):
            for entry in [each for each in line if each.error_code is not None]:
                line.remove(entry)
                entry.effect(step.reply, entry.error_code)
            if not line:
                del store.deferred._lines[partition]

    script = [("commit", "g", 0, 1), ("commit", "g", 0, 2), ("answer", 1, 0)]
    play(script)
    monkeypatch.setattr(offsets, "complete_deferred", overtaking)
    with pytest.raises(AssertionError):
        play(script)
