"""The sources of the site in a folder: the pages of docs, those of the project, and those that are made."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from rota.report.reference.claims import claims
from rota.report.site import api_pages, command_pages, property_pages, rule_pages
from rota.report.site.blocks import Block, Mark, blocks
from rota.report.site.writing import toctree
from rota.spec import RULES

PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
"""Pages beside docs, which are laid beside its pages."""

LABELS = {
    Mark.QUICK: "run by `make test`",
    Mark.LONG: "run by `make test-docs`",
    Mark.ELSEWHERE: "not run by a test",
}


def lay_out(root: Path, folder: Path) -> list[Path]:
    """Write all sources of the site anew into a folder, from a checkout. Returns what was written.

    A file whose text is as before is left alone, so that Sphinx builds what has changed.
    """
    texts = dict(_pages(root))
    written = []
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        written.append(path)
    for path in (root / "docs").rglob("*"):
        if path.is_file() and path.suffix not in (".md", ".pyc"):
            copy = folder / path.relative_to(root / "docs")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
            written.append(copy)
    for stale in set(folder.rglob("*.md")) - set(written):
        stale.unlink()
    return written


def _pages(root: Path) -> Iterator[tuple[str, str]]:
    docs = root / "docs"
    for path in sorted(docs.rglob("*.md")):
        name = path.relative_to(docs).as_posix()
        text = labelled(_from_docs(path.read_text(encoding="utf-8")))
        yield name, with_tree(text) if name == "index.md" else _linked_to_rules(name, text)
    for name in PROJECT:
        yield name, _from_root((root / name).read_text(encoding="utf-8"))
    for made in (rule_pages, property_pages, command_pages, api_pages):
        for name, text in made.pages():
            yield f"reference/{name}", labelled(text)


def _from_docs(text: str) -> str:
    """Links of a page in docs to pages beside docs."""
    for name in PROJECT:
        text = text.replace(f"](../{name}", f"](/{name}")
    return text.replace("](../README.md", "](/index.md")


def _from_root(text: str) -> str:
    """Links of a page beside docs into docs."""
    return text.replace("](docs/", "](/").replace("](README.md", "](/index.md")


def _linked_to_rules(name: str, text: str) -> str:
    """In the lists of rules and of properties: below each heading of one the link to its page."""
    folder, known = {
        "reference/rules.md": ("rule", frozenset(RULES)),
        "reference/properties.md": ("property", frozenset(claims())),
    }.get(name, ("", frozenset[str]()))

    def linked(heading: re.Match[str]) -> str:
        return f"{heading[0]}\n[its page]({folder}/{heading[1]}.md)\n" if heading[1] in known else heading[0]

    return re.sub(r"^### (\S+)\n", linked, text, flags=re.MULTILINE)


def with_tree(front: str) -> str:
    """The front page with the site's tree: a branch for each section, from the links in its list.

    A line `<!-- site: … -->` is shown on the site only: it links to pages that are made for it.
    """
    front = re.sub(r"<!-- site: (.*) -->", r"\1", front)
    trees: list[str] = []
    for section in front.split("\n## ")[1:]:
        title, _, rest = section.partition("\n")
        links = re.findall(r"^- \[([^\]]+)\]\(([\w./-]+)\.md\)", rest, flags=re.MULTILINE)
        pages = [f"{words} <{page}>" for words, page in links]
        trees += toctree(pages, caption=title, hidden="", maxdepth="1") if pages else ()
    return front + "\n" + "\n".join(trees) + "\n"


def labelled(page: str) -> str:
    """A page with a label above each block that has a mark. Errors: BlockError."""
    lines = page.splitlines()
    for block in reversed(list(blocks(page))):
        label = _label(block)
        first, last = block.line - 1, block.line + len(block.body) + 1
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        lines[first] = re.sub(r"(`{3,}\S*).*", r"\1", lines[first]).replace("```mermaid", "```text")
        if label:
            opening = [f":::{{container}} command {_class(block)}", label, ""]
            lines[last:last] = [f"{indent}:::"]
            lines[first:first] = [f"{indent}{line}" for line in opening]
    return "\n".join(lines) + "\n"


def _class(block: Block) -> str:
    return f"command-{block.mark.value}" if block.mark else "command-file"


def _label(block: Block) -> str:
    """What is said above a block: where its commands are run, why nowhere, and what they end with."""
    if block.file:
        return f"`{block.file}`"
    if block.mark is None:
        return "prints" if block.output else ""
    words = f"[{block.mark.value}](/commands.md)"
    words += f": {block.why}" if block.why else f": {LABELS[block.mark]}"
    return words + (f" · exit {block.exit_code}" if block.exit_code else "")
