"""What options can be set to, where more than one module has to know it."""

from __future__ import annotations

from rota.explore import engines

ENGINES = ("auto", *engines.ENGINES)
"""Ways to explore."""

ALL = "all"
"""In place of a design's name: all of them."""

CLASSIC, CONSUMER = PROTOCOLS = ("classic", "consumer")
"""Protocols of groups."""
