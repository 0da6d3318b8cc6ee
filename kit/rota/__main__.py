"""`python -m rota`: the command `rota`."""

from __future__ import annotations

from rota.cli.main import entry

if __name__ == "__main__":
    entry()
