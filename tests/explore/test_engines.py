"""Engines by name."""

from __future__ import annotations

import pytest

from rota.explore import MissingExtra, engines, reference
from rota.explore.fast import engine as fast
from rota.explore.fast import numpy_search


def test_names() -> None:
    assert engines.choose("reference") is reference.explore
    assert engines.choose("fast") is fast.explore
    assert engines.choose("numpy") is numpy_search.explore
    assert engines.choose("auto") is fast.explore


def test_auto_without_numpy_is_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert engines.choose("auto") is reference.explore
    with pytest.raises(MissingExtra, match=r'engine fast needs numpy; pip install "rota\[fast\]"'):
        engines.choose("fast")
    with pytest.raises(MissingExtra, match=r'engine spark needs pyspark; pip install "rota\[spark\]"'):
        engines.choose("spark")


def test_an_unknown_engine_names_those_there_are() -> None:
    with pytest.raises(engines.UnknownEngine, match="auto, reference, fast, numpy, spark"):
        engines.choose("warp")
