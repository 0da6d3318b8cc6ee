"""Obligations with something wrong with each, for workers of `rota prove` to find."""

from __future__ import annotations

import os
from itertools import count
from typing import NoReturn

import z3

from rota.proofs import Claim, Mutant, Obligation

X = z3.Int("x")
_built = count()


def fermat() -> Claim:
    a, b, c = (z3.Int(name) for name in "abc")
    return Claim({"positive": z3.And(a > 1, b > 1, c > 1)}, a * a * a + b * b * b != c * c * c)


def fickle() -> Claim:
    """True the first time that it is built, false the next."""
    return Claim({}, z3.BoolVal(next(_built) % 2 == 0))


def contradiction() -> Claim:
    return Claim({"above": X > 0, "odd": X % 2 == 1, "below": X < 0}, X == 1)


def dies() -> NoReturn:
    os._exit(9)


def broken() -> NoReturn:
    raise ZeroDivisionError("planted")


def needs_both() -> Claim:
    return Claim({"at least": X >= 3, "at most": X <= 3}, X == 3)


SOUND = (
    Obligation("planted.sound", "what is at least and at most three is three", "proved", needs_both),
    Obligation("planted.needless", "so it is", "proved", lambda: Claim({"spare": X > 0}, X == X)),
)
WRONG = (
    Obligation("planted.false", "x is one", "proved", lambda: Claim({}, X == 1)),
    Obligation("planted.true", "x is not x", "refuted", lambda: Claim({}, X == X)),
    Obligation("planted.contradiction", "x is one", "proved", contradiction),
    Obligation("planted.hard", "Fermat's last theorem for cubes", "proved", fermat),
    Obligation("planted.dies", "", "proved", dies),
    Obligation("planted.broken", "", "proved", broken),
    Obligation("planted.fickle", "it depends", "proved", fickle),
    Obligation(
        "planted.mutant",
        "x is x",
        "proved",
        lambda: Claim({}, X == X),
        (Mutant("the same", lambda: Claim({}, X == X)),),
    ),
)
