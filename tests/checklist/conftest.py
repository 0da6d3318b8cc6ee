"""The way to the modules beside this file, and to the stage of the scenarios."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenarios")]
pytest.register_assert_rewrite("stage", "stage_client", "stage_offsets", "checklist_words")
