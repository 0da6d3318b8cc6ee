"""The collector of cycles goes through what is new; what stays is set aside, not for ever."""

import gc
import weakref

import pytest

from rota.server.garbage import WHOLE_SECONDS, Aside


class Node:
    pass


def cycle():
    one = Node()
    one.itself = one
    return one


@pytest.fixture
def time():
    """Seconds by the clock of the callback, in a list of one."""
    now = [0.0]
    aside = Aside(lambda: now[0])
    gc.collect()
    gc.callbacks.append(aside)
    yield now
    gc.callbacks.remove(aside)
    gc.unfreeze()


def test_what_stays_is_not_looked_through_again(time):
    kept = [[number] for number in range(50_000)]
    gc.collect()
    assert gc.get_freeze_count() > len(kept)
    assert len(gc.get_objects()) < 10_000


def test_a_young_cycle_goes_at_once(time):
    gc.collect()
    gone = weakref.ref(cycle())
    gc.collect()
    assert gone() is None


def test_an_old_cycle_goes_in_ten_minutes(time):
    one = cycle()
    gone = weakref.ref(one)
    gc.collect()
    del one
    gc.collect()
    assert gone() is not None, "it was set aside"
    time[0] = WHOLE_SECONDS
    gc.collect()
    assert gone() is None
