"""Bugs of the coordinator that the lockstep machine cannot find: the dialogue named for each notices it."""

import importlib.util
import inspect
from pathlib import Path

import pytest

from rota.mutants.core import bugs_of_dialogues, planted

BUGS = bugs_of_dialogues()


def dialogue(name):
    """A test function of a neighbouring file, by "file::function"."""
    file, function = name.split("::")
    path = Path(__file__).with_name(f"test_coordinator_{file}.py")
    spec = importlib.util.spec_from_file_location(f"named_{file}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, f"test_{function}")


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_noticed(world, name):
    with planted(BUGS[name]), pytest.raises(AssertionError):
        dialogue(BUGS[name].dialogue)(world)


@pytest.mark.parametrize("name", sorted({bug.dialogue for bug in BUGS.values()}))
def test_the_dialogue_passes_without_the_bug(world, name):
    assert list(inspect.signature(dialogue(name)).parameters) == ["world"]
    dialogue(name)(world)
