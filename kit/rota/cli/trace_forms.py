"""The forms in which a trace can be shown: each a function of the trace and of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

from rota.cli.errors import INTERNAL, UsageError, say
from rota.cli.trace_file import reproduce
from rota.trace import ReplayError, Run, Trace, dumps, text


@dataclass(frozen=True)
class Form:
    """How a trace can be shown.

    function: MODULE:NAME of `(trace, run) -> text`, imported when it is asked for; states: it shows what is
    only in the run, so the system is built and replayed, and run is None where that cannot be done; needed:
    without the run there is nothing to show; suffix: of its files.
    """

    function: str
    suffix: str
    states: bool = False
    needed: bool = False


FORMS: Mapping[str, Form] = {
    "text": Form("rota.cli.trace_forms:in_words", ".txt"),
    "jsonl": Form("rota.cli.trace_forms:in_lines", ".jsonl"),
    "itf": Form("rota.trace.itf:itf", ".itf.json", states=True, needed=True),
    "mermaid": Form("rota.trace.mermaid:mermaid", ".mmd", states=True),
    "svg": Form("rota.pages.trace_svg:svg", ".svg", states=True),
    "html": Form("rota.cli.trace_forms:as_page", ".html", states=True),
    "dialogue": Form("rota.cli.trace_dialogue:dialogue", ".dialogue.txt", states=True, needed=True),
    "conform": Form("rota.cli.trace_conform:conform", ".case.py", states=True, needed=True),
    "pytest": Form("rota.cli.trace_pytest:pytest", "_test.py", states=True, needed=True),
}
"""Name of a form -> what it is."""


def in_words(trace: Trace, run: Run | None) -> str:
    """For a person, as wide as a file is."""
    return text(trace)


def in_lines(trace: Trace, run: Run | None) -> str:
    """As the file has it."""
    return dumps(trace)


COPIED = {"pytest": "a regression test", "conform": "a conformance case", "dialogue": "a dialogue"}
"""Forms that a page has to be copied, where there is one of the trace, by their names there."""


def as_page(trace: Trace, run: Run | None) -> str:
    """A page, on which the trace can be copied in the forms that programs and editors read."""
    from rota.pages.trace_page import html

    copies = {}
    for name, title in COPIED.items() if run is not None else ():
        with suppress(UsageError):  # there is none of this trace
            copies[title] = _imported(name, FORMS[name])(trace, run)
    return html(trace, run, copies)


def shown(trace: Trace, name: str, trusted: str | None) -> str:
    """A trace in a form, ending with a line end.

    trusted: MODULE:NAME of code outside of rota that may run. Errors: UsageError.
    """
    form = FORMS[name]
    function = _imported(name, form)
    run = _run(trace, name, form, trusted) if form.states else None
    return function(trace, run).rstrip("\n") + "\n"


def _imported(name: str, form: Form) -> Callable[[Trace, Run | None], str]:
    module, _, function = form.function.partition(":")
    try:
        found: Callable[[Trace, Run | None], str] = getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.rpartition(".")[0]):
            raise
        cause = f"`rota trace --as {name}` is not part of this installation ({module} is missing)"
        raise UsageError(f"{cause}; reinstall rota", INTERNAL) from None
    return found


def _run(trace: Trace, name: str, form: Form, trusted: str | None) -> Run | None:
    """The trace's run; None, and a line about it, where the form does without."""
    try:
        return reproduce(trace, trusted)
    except ReplayError as error:
        cause = f"the system does not do what the trace says ({error}); let `rota check` write it again"
    except UsageError as error:
        cause = error.message
    if form.needed:
        raise UsageError(f"--as {name} needs the states of the run: {cause}")
    say(f"shown without its states: {cause}")
    return None
