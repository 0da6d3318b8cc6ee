"""The core's mends are the spec's, and with all of them, or with some, it does what the spec allows."""

from __future__ import annotations

from dataclasses import asdict, fields, replace

import pytest

from harness.thinned import some
from oracle.pin import Kept, played
from rota.coordinator import MENDED, UNMENDED, CoordinatorConfig, JoinGroup, JoinGroupProtocol, Mends
from rota.mutants.core import core_bugs
from rota.oracle import Divergence, Lockstep
from rota.oracle import walk as walks
from rota.oracle.follow import profile_of
from rota.oracle.offsets_lockstep import OffsetsLockstep
from rota.spec import KAFKA_4, MENDS, PROFILES, ROTA

NAMES = [one.name for one in fields(Mends)]


def test_core_and_spec_mend_the_same():
    assert asdict(MENDED) == dict(MENDS)
    assert asdict(UNMENDED) == {name: getattr(KAFKA_4, name) for name in MENDS}


def test_a_core_is_judged_by_the_profile_with_its_mends():
    assert profile_of(CoordinatorConfig()) == KAFKA_4
    everything = profile_of(CoordinatorConfig(mends=MENDED))
    assert replace(everything, name=ROTA.name, title=ROTA.title) == ROTA == PROFILES["rota"]


def test_the_mended_core_does_what_the_spec_allows(mended_walk):
    """As many steps as without mends; every rule takes part."""
    assert mended_walk.found is None, mended_walk.found
    assert walks.judged() - mended_walk.rules == set()
    assert mended_walk.inputs > 30_000


@pytest.mark.parametrize("name", some(NAMES))
def test_each_mend_alone_does_what_the_spec_allows(name):
    alone = replace(UNMENDED, **{name: getattr(MENDED, name)})
    found = walks.walk(25, mends=alone).found
    assert found is None, found


@pytest.mark.parametrize("many", [120, pytest.param(300, marks=pytest.mark.long)])
def test_the_mended_core_does_what_the_spec_allows_beside_members(many):
    """With offsets, transactions, the administration, expiry, and coordinators that move.

    many: examples that were drawn without the mends.
    """
    examples = Kept.EVERYTHING.examples()[:many]
    whole = played(examples, MENDED, OffsetsLockstep)
    assert whole.found is None, whole.found
    assert whole.inputs > 5_000 * many // 300


@pytest.mark.parametrize("name", NAMES)
def test_each_mend_has_a_bug_that_undoes_it(name):
    assert any(bug.mended and (name in bug.old or name in bug.function) for bug in core_bugs().values())


def test_a_core_that_is_not_mended_is_noticed():
    """Judged by the profile that it should have."""
    lockstep = Lockstep(CoordinatorConfig(mends=MENDED), _unmended)
    entries = (JoinGroupProtocol("range", b"m"),)
    lockstep.ask(JoinGroup("g", 10_000, 10_000, "", None, "consumer", entries), 3)
    again = JoinGroup("g", 10_000, 10_000, "m1", None, "consumer", entries)
    with pytest.raises(Divergence, match="there is no answer to r1"):
        lockstep.ask(again, 3)


def _unmended(config, choices):
    from rota.coordinator import GroupCoordinator

    return GroupCoordinator(replace(config, mends=UNMENDED), choices)
