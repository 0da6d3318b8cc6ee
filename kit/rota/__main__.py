"""The command `rota`, and `python -m rota`: signals are heard while the rest is imported."""

from __future__ import annotations

import sys
from importlib import import_module

from rota.cli import interrupts


def entry() -> None:
    """Import the command line and call it. A signal meanwhile counts when all of it is there."""
    interrupts.listen()
    try:
        with interrupts.held():
            main = import_module("rota.cli.main")
    except KeyboardInterrupt as interrupt:
        interrupts.deaf()
        print(*f"rota: interrupted {interrupt}".split(), file=sys.stderr)
        sys.exit(130)
    main.entry()


if __name__ == "__main__":
    entry()
