"""Every command in the documentation has a mark, runs, ends as the page says and prints what it shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from harness.commands import ROOT, Terminal, differs
from harness.thinned import but
from rota.cli.main import COMMANDS, main
from rota.report.site import property_pages
from rota.report.site.blocks import BlockError, Mark, blocks, unmarked

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}


def having(mark: Mark) -> list[str]:
    return [name for name, page in PAGES.items() if any(block.mark is mark for block in blocks(page))]


def problems(page: str, folder: Path, *marks: Mark) -> list[str]:
    """What is not as the page says; each command is told when it is over."""
    told, found = 0, list[str]()
    for one in Terminal(folder).follow(page, marks):
        told += 1
        text = one.text.splitlines()[0]
        print(f"{one.seconds:6.1f} s, {one.processor:5.1f} s of processor  {text}", flush=True)
        found += [f"$ {one.text}\n{one.problem}"] if one.problem else []
    assert told
    return found


@pytest.mark.parametrize("name", PAGES)
def test_every_command_has_a_mark(name: str) -> None:
    assert list(unmarked(PAGES[name])) == []


SECONDS = (
    "docs/asking-a-trace.md",
    "docs/from-pytest.md",
    "docs/judge-in-ci.md",
    "docs/judging-a-coordinator.md",
    "docs/liveness.md",
    "docs/proofs.md",
    "docs/scopes.md",
    "docs/tutorial-find-a-bug.md",
    "docs/your-own-coordinator.md",
    "docs/your-own-system.md",
)
"""Pages whose quick commands take some together: they are followed with -m long."""


@pytest.mark.parametrize("name", but(SECONDS, having(Mark.QUICK)))
def test_quick_commands_do_what_the_page_says(name: str, tmp_path: Path) -> None:
    assert problems(PAGES[name], tmp_path, Mark.QUICK) == []


@pytest.mark.docs
@pytest.mark.parametrize("name", having(Mark.LONG))
def test_long_commands_do_what_the_page_says(name: str, tmp_path: Path) -> None:
    assert problems(PAGES[name], tmp_path, Mark.QUICK, Mark.LONG) == []


@pytest.mark.docs
def test_the_command_on_the_page_of_a_property_judges_it(tmp_path: Path) -> None:
    made = "\n".join(page for name, page in property_pages.pages() if not name.endswith("index.md"))
    assert problems(made, tmp_path, Mark.LONG) == []


# ---- commands within sentences are not run: their verbs and options must be there


def told(page: str) -> Iterator[str]:
    """Commands of rota in sentences, and those in blocks that are run elsewhere."""
    yield from re.findall(r"`(rota [a-z][^`]*)`", page.replace("\n", " "))
    for block in blocks(page):
        if block.mark is Mark.ELSEWHERE:
            yield from (one.text for one in block.commands if one.text.startswith("rota "))


def unknown(command: str) -> list[str]:
    """The verb that there is not, or the options that it does not have."""
    _, verb, *words = shlex.split(command)
    if verb not in COMMANDS:
        return [verb]
    context = click.Context(main, info_name="rota")
    made = main.get_command(context, verb)
    assert made is not None
    there = {name for one in made.get_params(context) for name in (*one.opts, *one.secondary_opts)}
    return [word for word in words if re.fullmatch(r"--?[a-z][\w-]*", word) and word not in there]


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_sentences_have_options_that_there_are(name: str) -> None:
    assert {one: unknown(one) for one in told(PAGES[name]) if unknown(one)} == {}


# ---- the harness finds what is wrong


def test_a_command_without_a_mark_is_found() -> None:
    assert list(unmarked("    rota check\n")) == ["line 1: an indented command; fence it, with a mark"]
    assert "say ```sh quick" in next(unmarked("text\n```sh\nrota check\n```\n"))
    assert "say ```python quick" in next(unmarked("```python\nimport rota\n```\n"))
    assert list(unmarked("```yaml\nrun: rota check\n```\n```sh quick\nrota check\n```\n")) == []


@pytest.mark.parametrize("info", ["sh quik", "sh elsewhere", "sh quick (a broker)", "console exit=1 quick"])
def test_a_mark_that_is_none_is_found(info: str) -> None:
    with pytest.raises(BlockError, match="line 1"):
        list(blocks(f"```{info}\nrota check\n```\n"))


def test_output_that_is_another_is_found(tmp_path: Path) -> None:
    page = "```console quick\n$ echo one\none\n$ echo two\nthree\n```\n"
    (problem,) = problems(page, tmp_path, Mark.QUICK)
    assert "not printed here: 'three'; instead of it 'two'" in problem
    assert problems(page.replace("three", "two"), tmp_path, Mark.QUICK) == []


def test_an_exit_code_that_is_another_is_found(tmp_path: Path) -> None:
    (problem,) = problems("```sh quick\nfalse   # exit 0\nfalse   # exit 1\n```\n", tmp_path, Mark.QUICK)
    assert "exit 1 and not 0" in problem


def test_files_of_a_page_are_whole_and_its_scripts_are_run(tmp_path: Path) -> None:
    page = (
        "```python file=a.py\nx = 1\n```\n```python file=a.py\ny = x + 1\n```\n"
        "```python quick\nimport a\nprint(a.y)\n```\n```text output\n3\n```\n"
    )
    (problem,) = problems(page, tmp_path, Mark.QUICK)
    assert "'3'; instead of it '2'" in problem


def test_what_varies_does_not_count_and_all_else_does() -> None:
    shown = ["…", "held in 0.3 s with 2 workers, sources 1a1f76e96513", "at 127.0.0.1:9092"]
    assert differs(shown, "first\nheld in 12 s with 1 worker, sources 2b1f76e96513\nat 127.0.0.1:1") == ""
    assert "more is printed" in differs(["one"], "one\ntwo")
    assert differs(["one", "…", "three…"], "one\ntwo\nthree and four") == ""
    assert "not printed: 'three…'" in differs(["one", "…", "three…"], "one\ntwo")
    assert "not printed here" in differs(["one", "three"], "one\ntwo\nthree")
    assert "7 states" in differs(["7 states in 1 s"], "8 states in 1 s")
