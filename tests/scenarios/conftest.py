"""The flag that writes the golden dialogues anew."""

from pathlib import Path

import pytest

SCRIPTS = [f"scenarios.{path.stem}" for path in Path(__file__).parent.glob("scenarios_*.py")]
pytest.register_assert_rewrite(*SCRIPTS)


def pytest_addoption(parser):
    parser.addoption(
        "--regenerate", action="store_true", help="write the golden dialogues of tests/scenarios anew"
    )


@pytest.fixture
def regenerate(request):
    """Whether dialogues are written, not compared. False where the flag is not known: the whole suite."""
    return request.config.getoption("--regenerate", default=False)
