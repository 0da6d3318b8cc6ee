"""What pytest loads where rota is installed: options and fixtures. The kit is imported when one is used.

`rota_broker` is a broker in the hand of a client's test; `rota_target` names a coordinator to judge, whose
cases become tests with `--rota-cases`. docs/from-pytest.md shows both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rota.pytest_plugin.judging import Judge
    from rota.server import ControlledBroker

_INI = {
    "rota_target": ("string", "the coordinator to judge, as `rota conform --target` takes it"),
    "rota_profile": ("string", "the line of brokers that it is held to, as `rota conform --profile`"),
    "rota_known": ("paths", "lists of known failures, as `rota conform --known`: they are xfail"),
    "rota_set": ("args", "settings that a broker at HOST:PORT runs with, as `rota conform --set`"),
}
"""Settings in pytest's own file; each is an option too, with hyphens for underscores."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rota", "a coordinator of Kafka's consumer groups, judged by rota")
    for name, (kind, about) in _INI.items():
        parser.addini(name, about, type=kind)  # type: ignore[arg-type]  # its kinds are literals
        action = "store" if kind == "string" else "append"
        group.addoption(f"--{name.replace('_', '-')}", dest=name, action=action, help=about)
    about = "collect these cases as tests too: ids, rules or parts with commas between, or all; repeatable"
    group.addoption("--rota-cases", dest="rota_cases", action="append", metavar="CASES", help=about)


def pytest_configure(config: pytest.Config) -> None:
    about = "rota_broker(settings): settings of the fixture rota_broker, by Kafka's names"
    config.addinivalue_line("markers", about)
    if config.getoption("rota_cases"):
        from rota.pytest_plugin.collecting import CasePlugin

        config.pluginmanager.register(CasePlugin(config), "rota-cases")


@pytest.fixture
def rota_broker(request: pytest.FixtureRequest) -> Iterator[ControlledBroker]:
    """A broker on 127.0.0.1 for this test, all in memory, that the test has in hand.

    Give `rota_broker.bootstrap` to a client; then `expire`, `drop`, `answer_once`, `move_coordinator`,
    `advance`, and look at `groups()`. The mark `rota_broker({...})` sets what it runs with.
    """
    from rota.server import controlled

    marks = [mark.args[0] for mark in request.node.iter_markers("rota_broker")]
    settings = {name: value for mark in reversed(marks) for name, value in mark.items()}
    with controlled(settings) as broker:
        yield broker


@pytest.fixture(scope="session")
def rota_target(pytestconfig: pytest.Config) -> str:
    """The coordinator to judge, as `rota conform --target` names it, by `--rota-target` or the ini file.

    Define a fixture of this name, of scope session, to name another, such as one that your fixtures start.
    """
    target = pytestconfig.getoption("rota_target") or pytestconfig.getini("rota_target")
    if not target:
        pytest.fail(
            "no target; give --rota-target, set rota_target in ini, or define a fixture rota_target", False
        )
    return str(target)


@pytest.fixture
def rota_address(rota_target: str, pytestconfig: pytest.Config) -> Iterator[str]:
    """HOST:PORT of the target, started for this test where rota starts it."""
    from rota.pytest_plugin.judging import started

    with started(rota_target, pytestconfig) as address:
        yield address


@pytest.fixture(scope="session")
def rota_judge(rota_target: str, request: pytest.FixtureRequest) -> Iterator[Judge]:
    """What plays the cases that are tests of this session."""
    from rota.pytest_plugin.collecting import cases_of
    from rota.pytest_plugin.judging import Judge

    with Judge(rota_target, request.config, cases_of(request.session)) as judge:
        yield judge
