"""What tests beside Kafka share."""

from __future__ import annotations

from functools import cache

import pytest

from harness.java_programs import Compiled, NotCompiled, compiled


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The command that runs a program of `harness` in Java, by name; skips where it cannot be compiled."""

    @cache
    def command(name: str) -> tuple[str, ...]:
        try:
            return compiled(name, tmp_path_factory.mktemp(name))
        except NotCompiled as cause:
            pytest.skip(str(cause))

    return command
