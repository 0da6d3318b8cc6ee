"""What each rule says in words: what a broker does, what the model leaves out of it, and why that is safe."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import pytest

from rota.kernel import rule
from rota.kernel.rules import Rule
from rota.spec import RULES

LEFT_OUT, NOTHING = "Left out: ", "Nothing is left out: "
ENDS = re.compile(r"(?<=[.?!])\s+")


def paragraphs(one: Rule) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in one.text.split("\n\n")]


def sentences(paragraph: str) -> list[str]:
    return ENDS.split(paragraph)


def not_told(rules: Iterable[Rule]) -> Iterator[str]:
    """What rules fail to say: what is left out, and why that is safe, which takes two sentences at least."""
    for one in rules:
        title, *others = paragraphs(one)
        if len(sentences(title)) > 1 or not title.endswith("."):
            yield f"{one.slug}: the first line is no sentence by itself"
        about = [paragraph for paragraph in others if paragraph.startswith((LEFT_OUT, NOTHING))]
        if len(about) != 1:
            yield f"{one.slug}: {len(about)} paragraphs say what is left out"
        if any(len(sentences(paragraph)) < 2 for paragraph in about if paragraph.startswith(LEFT_OUT)):
            yield f"{one.slug}: does not say why it is safe to leave that out"


def said_twice(rules: Iterable[Rule]) -> Iterator[str]:
    """Sentences that stand under two rules: each says something of its own."""
    under = defaultdict(list)
    for one in rules:
        for sentence in {s for paragraph in paragraphs(one) for s in sentences(paragraph)}:
            under[sentence.removeprefix(LEFT_OUT).removeprefix(NOTHING).casefold()].append(one.slug)
    for sentence, slugs in under.items():
        if len(slugs) > 1:
            yield f"{' and '.join(slugs)}: {sentence}"


def test_every_rule_says_what_is_left_out_and_why_that_is_safe() -> None:
    assert list(not_told(RULES.values())) == []


def test_no_sentence_stands_under_two_rules() -> None:
    assert list(said_twice(RULES.values())) == []


# ---- planted


@rule("x.good", source="a test")
def good() -> None:
    """A broker answers.

    Left out: the metric. No client sees it.
    """


@rule("x.short", source="a test")
def short() -> None:
    """A broker answers at once."""


@rule("x.bare", source="a test")
def bare() -> None:
    """A broker refuses.

    It answers with an error. Left out: nothing that a paragraph of its own would say.
    """


@rule("x.unreasoned", source="a test")
def unreasoned() -> None:
    """A broker forgets.

    Left out: the metric.
    """


@rule("x.long", source="a test")
def long() -> None:
    """A broker waits. It answers later.

    Nothing is left out: it waits for the log alone.
    """


@rule("x.repeats", source="a test")
def repeats() -> None:
    """A broker starts.

    Left out: the time. No client sees it.
    """


def planted(*functions: Callable[[], None]) -> list[Rule]:
    return [function.__rota_rule__ for function in functions]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (short, "x.short: 0 paragraphs say what is left out"),
        (bare, "x.bare: 0 paragraphs say what is left out"),
        (unreasoned, "x.unreasoned: does not say why it is safe to leave that out"),
        (long, "x.long: the first line is no sentence by itself"),
    ],
)
def test_a_rule_that_says_too_little_is_found(function: Callable[[], None], fault: str) -> None:
    assert list(not_told(planted(good, function))) == [fault]


def test_a_sentence_that_is_said_twice_is_found() -> None:
    assert list(said_twice(planted(good, short))) == []
    assert list(said_twice(planted(good, repeats))) == ["x.good and x.repeats: no client sees it."]
    assert list(said_twice(planted(good, unreasoned))) == ["x.good and x.unreasoned: the metric."]
