"""The summary of a run tells of what its histories consist, and what came of what was planted in them."""

from __future__ import annotations

import json
from functools import partial
from operator import itemgetter

import pytest
from bench.histories_mix import mix_of
from click.testing import CliRunner

from harness.judged_frames import terms_of
from harness.nights_apart import as_tables, own_nights, scattered, told
from harness.small_groups import all_small
from harness.thinned import some
from rota.cli.main import main
from rota.histories import pairs as counted
from rota.histories import tasks
from rota.histories.summary import as_json, text
from rota.linearise import learned
from rota.linearise import pairs as asked
from rota.mutants.core import CoreBug, planted
from rota.population.files import RECORDINGS
from rota.population.truth import TRUTH

GROUPS, COPIES = 3, 2


def rota(*arguments):
    found = CliRunner().invoke(main, [*map(str, arguments), "--quiet"])
    assert found.exit_code in (0, 1), found.output


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three groups of few members and a copy of each; the servers of some have a bug that shows."""
    folder = tmp_path_factory.mktemp("made")
    with all_small():
        how = "--histories", GROUPS, "--seed", 5, "--bugs", 0.5, "--copies", COPIES
        rota("simulate", *how, "--out", folder)
    return folder


def mix(folder, out):
    """What the summary of a run over what was made says."""
    known = "--fresh", "--set", "group.initial.rebalance.delay.ms=3000"
    rota("validate", folder / RECORDINGS, *known, "--unordered", "--buckets", 2, "--out", out)
    return json.loads((out / "summary.json").read_text())["mix"], (out / "summary.txt").read_text()


def the_summary_tells(made, tmp_path):
    found, said = mix(made, tmp_path / "out")
    lines = (made / TRUTH).read_text().splitlines()
    shown = sum(bool(json.loads(line)["shown"]) for line in lines)
    assert 0 < shown < GROUPS * COPIES
    assert found["made"] == {"histories": GROUPS * COPIES, "distinct": GROUPS, "planted": len(lines),
                             "visible": shown, "found": shown, "missed": 0, "violated_beside": 0}  # fmt: skip
    assert found["groups_without_a_rebalance"] == 0
    assert found["distinct_pairs"] == mix_of(made / RECORDINGS).pairs > 100
    assert f"which shows in {shown}: {shown} found, 0 others violated" in " ".join(said.split())
    assert "6 histories, 3 of them distinct" in said
    assert "% are heartbeats" in said


def what_is_not_as_it_was_made_is_named(made, tmp_path):
    lines = [json.loads(line) for line in (made / TRUTH).read_text().splitlines()]
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / RECORDINGS).symlink_to(made / RECORDINGS)
    (tmp_path / "histories.json").write_text((made / "histories.json").read_text())
    sound = next(name for number in range(GROUPS) if (name := f"group-{number:08}-01") not in
                 {each["group"] for each in lines if each["shown"]})  # fmt: skip
    there = [one["group"] for one in lines if one["shown"]]
    hidden = {"group": sound.removesuffix("1") + "0", "shown": ""}
    told_now = [
        {"group": sound, "shown": "an answer"},
        hidden,
        *(one for one in lines if one["group"] != there[0]),
    ]
    (tmp_path / TRUTH).write_text("".join(f"{json.dumps(one)}\n" for one in told_now))
    found, said = mix(tmp_path, tmp_path / "out")
    assert (found["made"]["missed"], found["made"]["violated_beside"]) == (1, 1)
    assert f"missed: {sound}; violated without: {there[0]}" in " ".join(said.split())


def forgetful(kind, plan, pieces):
    """A runner whose every piece is done by somebody who knows nothing."""
    found = []
    for piece in pieces:
        learned._OF.clear()
        found += tasks.here(kind, plan, [piece])
    return found


def pairs(out, lake, run=tasks.here, buckets=3):
    return told(*as_tables([lake], out, terms_of(), run=run, buckets=buckets, unordered=True)).mix


def whoever_judges_the_pairs_are_the_same(tmp_path):
    lake = tmp_path / "lake"
    nights = own_nights()
    scattered([one for night in nights for one in night], 3, lake / "one")
    met = set()
    with pytest.MonkeyPatch.context() as patch:
        note = asked.note
        patch.setattr(asked, "note", lambda *pair: (met.add(pair), note(*pair)))
        whole = pairs(tmp_path / "one", lake, buckets=1)
    assert whole.pairs == len(met) > 100
    assert pairs(tmp_path / "three", lake).pairs == whole.pairs
    assert pairs(tmp_path / "strangers", lake, run=forgetful).pairs == whole.pairs
    for number, night in enumerate(nights):
        scattered(night, 1, tmp_path / "later" / str(number))
        found = pairs(tmp_path / "more", tmp_path / "later", buckets=1)
    assert found.pairs == whole.pairs


def what_ends_with_an_error_is_counted_by_the_next_try(tmp_path):
    lake = scattered([one for night in own_nights() for one in night], 1, tmp_path / "lake")

    def at_the_second_try(kind, plan, pieces):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counted, "write", lambda folder, found: 1 / 0)
            if kind == tasks.JUDGE:
                with pytest.raises(ZeroDivisionError):
                    tasks.here(kind, plan, pieces)
        return tasks.here(kind, plan, pieces)

    whole = pairs(tmp_path / "one", lake)
    assert pairs(tmp_path / "two", lake, run=at_the_second_try).pairs == whole.pairs


def groups_that_never_rebalance_are_counted(tmp_path):
    scattered(own_nights()[0], 1, tmp_path / "lake" / "moving")
    assert pairs(tmp_path / "moving", tmp_path / "lake").still == 0
    fetches = [one for one in own_nights()[3] if one.data.get("api") == "OffsetFetch"]
    scattered(fetches, 1, tmp_path / "lake" / "still")
    found = told(*as_tables([tmp_path / "lake"], tmp_path / "out", terms_of(), unordered=True))
    assert found.mix.still == 1
    assert "1 group without a rebalance" in text(found)
    assert as_json(found)["mix"]["made"] is None


ALONE = (
    whoever_judges_the_pairs_are_the_same,
    what_ends_with_an_error_is_counted_by_the_next_try,
    groups_that_never_rebalance_are_counted,
)
OF_MADE = (the_summary_tells, what_is_not_as_it_was_made_is_named)


@pytest.mark.parametrize("check", ALONE, ids=lambda one: one.__name__)
def test_what_is_counted(check, tmp_path):
    check(tmp_path)


@pytest.mark.parametrize("check", OF_MADE, ids=lambda one: one.__name__)
def test_what_was_made(check, made, tmp_path):
    check(made, tmp_path)


MIX, PAIRS, MADE = "rota.histories.mix:", "rota.linearise.pairs:", "rota.population.truth:beside"
OTHERS, AGAIN, STILL, TELLS, NAMES = *ALONE, *OF_MADE
BUGS = (
    (OTHERS, "pairs of a bucket are forgotten when it is judged anew", "rota.histories.judging:judge",
     "pairs.read(bucket.before) if bucket.before else ()", "()"),
    (OTHERS, "pairs that two buckets met are counted twice", "rota.histories.pairs:distinct",
     "groupby(heapq.merge(*map(read, folders)))", "heapq.merge(*map(read, folders))"),
    (OTHERS, "what another run has learned is not counted", PAIRS + "is_new",
     "run is None or run != _ASKED.run", "run is None"),
    (AGAIN, "what was learned before an error is not counted", PAIRS + "is_new",
     "run is None or run != _ASKED.run", "_ASKED.run not in (None, run)"),
    (OTHERS, "inputs are not looked at", PAIRS + "note", "encode(asked)", 'b""'),
    (STILL, "all have a rebalance", MIX + "_still", "_key(one) not in moved", "False"),
    (STILL, "nobody has a rebalance", MIX + "_still", 'one["rebalances"]', "False"),
    (NAMES, "what is missed is found", MIX + "_made", "shows and not is_violated", "False"),
    (NAMES, "whoever is planted shows", MADE, '{key} if one["shown"] else set()', "{key}"),
    (TELLS, "copies are distinct", MADE, 'told["distinct"]', 'told["histories"]'),
)  # fmt: skip


SOME = some(BUGS, 4, kind=itemgetter(0), name=itemgetter(1))
"""Of each check the bugs that it is to find are in `make test` one at least."""


@pytest.mark.parametrize(("check", "name", "function", "old", "new"), SOME, ids=[one[1] for one in BUGS])
def test_what_is_planted_is_found(made, tmp_path, check, name, function, old, new):
    run = partial(check, made) if check in OF_MADE else check
    with planted(CoreBug("", name, name, function, old, new)), pytest.raises(AssertionError):
        run(tmp_path)
