"""`python -m rota.cli`, for whoever types that: it is `python -m rota`."""

from __future__ import annotations

from rota.__main__ import entry

if __name__ == "__main__":
    entry()
