"""Which script, and where in it: said with whatever goes wrong there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rota.oracle import Divergence


@contextmanager
def naming(where: Callable[[], str]) -> Iterator[None]:
    """What fails in the block says where: an assertion in its message, anything else in a note."""
    try:
        yield
    except Divergence as found:
        found.add_note(where())
        raise
    except AssertionError as failure:
        raise AssertionError(f"{where()}: {failure}") from failure
    except Exception as failure:
        failure.add_note(where())
        raise
