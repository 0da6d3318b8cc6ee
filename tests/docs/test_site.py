"""What the site is made of: a page for each rule, property and verb; links have an end, the tree is whole."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from rota.cli.main import COMMANDS
from rota.mutants import MUTANTS
from rota.report.matrix import rows_of_the_spec
from rota.report.reference.claims import claims
from rota.report.site import lay_out
from rota.report.site.api_pages import PACKAGES
from rota.report.site.layout import labelled, with_tree
from rota.report.site.neighbours import asked_by, asks, places
from rota.report.site.rule_pages import cases, obligations
from rota.report.site.writing import plain
from rota.spec import RULES
from rota.spec.handlers import HANDLERS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Path -> text of every source of the site that is text."""
    folder = tmp_path_factory.mktemp("site")
    lay_out(ROOT, folder)
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") if path.suffix == ".md" else ""
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_everything_has_a_page(site: Mapping[str, str]) -> None:
    assert {f"reference/rule/{slug}.md" for slug in RULES} <= site.keys()
    assert {f"reference/property/{name}.md" for name in claims()} <= site.keys()
    assert {f"reference/cli/{verb}.md" for verb in COMMANDS} <= site.keys()
    assert {f"reference/api/{name}.md" for name in PACKAGES} <= site.keys()


def test_a_page_of_a_rule_has_all_that_is_known_of_it(site: Mapping[str, str]) -> None:
    for slug, row in rows_of_the_spec().items():
        page = site[f"reference/rule/{slug}.md"]
        assert plain(row.rule.title) in page
        assert plain(row.rule.source) in page
        missing = [
            name
            for name in (
                *(mutant.name for mutant in (*row.mutants, *row.by_dialogues)),
                *(bug.name for bug in row.bugs),
                *row.cases,
                *(name for _, name, *_ in obligations()[slug]),
                *(f"/{other}.md" for other in (*asks()[slug], *asked_by(slug))),
            )
            if name not in page
        ]
        assert missing == [], slug


def test_a_page_of_a_property_has_the_mutants_that_it_kills(site: Mapping[str, str]) -> None:
    for mutant in MUTANTS.values():
        if mutant.killer in claims():
            assert f"`{mutant.name}`" in site[f"reference/property/{mutant.killer}.md"]


def test_every_rule_has_a_neighbour() -> None:
    """Each is tried by a handler, or another rule names it."""
    assert [slug for slug in RULES if not (list(places(slug)) or asked_by(slug))] == []


def test_neighbours_are_those_of_the_code() -> None:
    (place,) = places("heartbeat.alive")
    assert (place.before, place.after) == ("heartbeat.rebalance-in-progress", "")
    assert place.number == place.of == len(HANDLERS["HeartbeatRequest"])
    assert "join.barrier" in asks()["join.rebalance-or-complete"]
    assert {"static.replaced-in-stable", "static.replaced-while-preparing"} <= set(asks()["static.replaced"])
    assert "join.rebalance-or-complete" in asked_by("join.barrier")


def test_what_only_the_decorator_says_is_no_neighbour() -> None:
    assert all(slug not in asks()[slug] for slug in RULES)
    assert sum(map(len, asks().values())) > 40


def test_cases_and_obligations_are_of_rules_that_there_are() -> None:
    assert {slug for slug in cases() if not slug.startswith(("wire.", "consumer."))} <= set(RULES)
    assert sum(bool(some) for some in obligations().values()) > 40


def test_every_link_has_an_end(site: Mapping[str, str]) -> None:
    """Also those of pages that Sphinx is not asked about: pictures."""
    dead = []
    for name, text in site.items():
        for target in re.findall(
            r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`|```.*?```", "", text, flags=re.DOTALL)
        ):
            if not re.match(r"[a-z]+:", target):
                path = Path(target[1:]) if target.startswith("/") else Path(name).parent / target
                plainly = Path("/", path).resolve().relative_to("/").as_posix()
                dead += [(name, target)] if plainly not in site else []
    assert dead == []


def test_every_page_is_in_the_tree(site: Mapping[str, str]) -> None:
    below = {"index.md"}
    for name, text in site.items():
        for body in re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.DOTALL):
            entries = [line for line in body.splitlines() if line and not line.startswith(":")]
            entries = [re.sub(r".* <(.*)>", r"\1", entry) for entry in entries]
            below |= {(Path("/", name).parent / f"{entry}.md").as_posix()[1:] for entry in entries}
    assert {name for name in site if name.endswith(".md")} - below == set()


def test_a_label_says_where_commands_are_run() -> None:
    page = labelled("a\n\n```sh quick\nrota\n```\n\n```sh elsewhere (a cluster)\nrota\n```\n")
    assert (
        ":::{container} command command-quick\n[quick](/commands.md): run by `make test`\n\n```sh\nrota"
        in page
    )
    assert "[elsewhere](/commands.md): a cluster\n\n```sh\nrota\n```\n:::" in page
    assert labelled("```text\nx\n```\n") == "```text\nx\n```\n"
    assert "· exit 1" in labelled("```console quick exit=1\n$ x\n```\n")
    assert "`two.py`" in labelled("```python file=two.py\nx\n```\n")


def test_the_front_page_gives_the_tree() -> None:
    made = with_tree(
        "# a\n\n## One\n\n- [x](x.md): words\n<!-- site: - [y](r/y.md) -->\n\n## Two\n\n- [z](z.md)\n"
    )
    assert "- [y](r/y.md)" in made
    assert ":caption: One\n:hidden:\n:maxdepth: 1\n\nx <x>\ny <r/y>\n```" in made
    assert ":caption: Two" in made


def test_words_are_taken_literally_outside_of_code() -> None:
    assert plain("a <b> `<c>` *d* e*f*g") == r"a \<b> `<c>` *d* e\*f\*g"


def test_the_picture_on_the_front_page_is_that_run() -> None:
    made = importlib.util.spec_from_file_location(
        "counterexample", Path(__file__).with_name("counterexample.py")
    )
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    written = module.PICTURE.read_text(encoding="utf-8")
    assert written == module.picture(), "out of date; python tests/docs/counterexample.py"
