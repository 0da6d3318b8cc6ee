"""The page of a run: the chart, the chosen step beside it, why, who owned what, what properties said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rota.pages.document import Markup, document, element, embedded, joined
from rota.pages.fragments import beginning, chart, copies, head, step, why
from rota.pages.state import knows_values, moments_as_data, state_panel
from rota.pages.strips import lights, ownership_strip
from rota.trace import Run, Trace, dumps, text
from rota.trace.story import Story
from rota.trace.svg import STEP
from rota.trace.telling import telling

LARGEST = 900_000
"""Bytes of a page, less those that every page has; only a run of very many steps needs more by itself."""


def page(story: Story) -> str:
    """A story as one file of HTML."""
    run = joined(why(story), player(story))
    main = element("main", run, copies(story, LARGEST - len(run.encode())))
    said = element("p", class_="unseen said", role="status", aria_live="polite")
    skip = element("a", "Skip to the steps", href=f"#{STEP}1", class_="skip")
    return document(f"{story.title}: {story.verdict}", joined(skip, head(story), main, said))


def player(story: Story, link: str = STEP) -> Markup:
    """The chart and its steps, of which the script shows one at a time and the keys choose.

    link: before the number of a step in the name of its place; on a page with several stories it is the
    story's own.
    """
    steps = joined(beginning(story, link), (step(event, story, link) for event in story.events))
    moments = joined(
        _part("Who owns what", ownership_strip(story, link)),
        _part("Machines", state_panel(story, 0), "at the start"),
        _part("Properties", lights(story, link)),
    )
    chosen = max(story.marks, default=_first_that_repeats(story))
    return element(
        "section",
        chart(story, link),
        element("div", _controls(story), element("div", steps, class_="steps"), moments, class_="chosen"),
        embedded(moments_as_data(story), class_="moments") if knows_values(story) else None,
        class_="player",
        data_story=True,
        data_link=link,
        data_last=len(story.events),
        data_chosen=chosen,
        aria_label="The run, step by step",
    )


def _first_that_repeats(story: Story) -> int:
    """The first step of a lasso's cycle, else the first step."""
    return min(len(story.events), len(story.events) - story.cycle + 1 if story.cycle else 1)


def _controls(story: Story) -> Markup:
    """Buttons for what the keys do too."""
    buttons = [
        element("button", sign, type="button", data_go=go, aria_label=said, title=f"{said} ({keys})")
        for sign, go, said, keys in (
            ("⇤", "first", "First step", "Home"),
            ("←", "previous", "Previous step", "← ↑ k"),
            ("→", "next", "Next step", "→ ↓ j"),
            ("⇥", "last", "Last step", "End"),
        )
    ]
    where = element("span", element("b", "0", class_="now"), f" of {len(story.events)}", class_="where")
    link = element("button", "Copy link", type="button", class_="link")
    return element("div", *buttons[:2], where, *buttons[2:], link, class_="controls", role="toolbar",
                   aria_label="Steps", hidden=True)  # fmt: skip


def _part(title: str, content: Markup, when: str = "") -> Markup | None:
    if not content:
        return None
    shown = element("span", f" {when}", class_="when quiet") if when else None
    return element("section", element("h3", title, shown), content, class_="part")


def html(trace: Trace, run: Run | None, further: Mapping[str, str] | None = None) -> str:
    """The page of a trace. run: its replay, None where its system is not at hand; further: forms to copy."""
    story = telling(trace, run)
    copies = {"text": text(trace), **story.copies, **(further or {}), "JSON lines": dumps(trace)}
    return page(replace(story, copies=copies))
