"""The rules of the spec by slug: what `rota rules` lists."""

from rota.spec.handlers import RULES

__all__ = ["RULES"]
