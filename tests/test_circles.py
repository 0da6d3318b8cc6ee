"""No module imports itself by way of others.

An import counts wherever it stands: at the top, in a function, below `if TYPE_CHECKING:`; so does a text that
names a module, as in "rota.spec.join:joined". To import a package, or a name that its __init__ has, is to
import the __init__; to import a submodule is to import the submodule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("model", "impl", "proofs", "kit")

NAMES_A_MODULE = re.compile(r"rota(\.\w+)+(:\w+)?")

Graph = Mapping[str, frozenset[str]]
"""Module → modules of rota that it imports, itself left out."""


def modules(root: Path) -> list[Path]:
    """All Python files of the four sources."""
    return [module for source in SOURCES for module in sorted((root / source).rglob("*.py"))]


def name_of(root: Path, module: Path) -> str:
    """The dotted name of a file below SOURCE; a package's is that of its __init__."""
    parts = module.relative_to(root).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def named(tree: ast.Module, known: frozenset[str]) -> Iterator[str]:
    """Every module that the source names in an import or a text, as often as it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in known else node.module
        elif isinstance(node, ast.Constant) and NAMES_A_MODULE.fullmatch(str(node.value)):
            yield str(node.value).partition(":")[0]


def imports(root: Path) -> Graph:
    """What each module of the four sources imports of them."""
    files = {name_of(root, module): module for module in modules(root)}
    known = frozenset(files)
    return {
        name: (known & {*named(ast.parse(file.read_text(encoding="utf-8")), known)}) - {name}
        for name, file in files.items()
    }


def reached(graph: Graph, start: str) -> dict[str, str]:
    """What `start` imports, at once or by way of others → who imports it there, on a shortest way."""
    before: dict[str, str] = {}
    level = [start]
    while level:
        found = {}
        for module in level:
            for other in sorted(graph[module] - before.keys()):
                found.setdefault(other, module)
        before |= found
        level = [module for module in found if module != start]
    return before


def circle(graph: Graph, start: str) -> tuple[str, ...]:
    """A shortest circle through a module, from its least module on; empty if there is none."""
    before = reached(graph, start)
    if start not in before:
        return ()
    way = [start]
    while (module := before[way[-1]]) != start:
        way.append(module)
    way = way[::-1]
    least = way.index(min(way))
    return (*way[least:], *way[:least])


def knotted(graph: Graph) -> Graph:
    """Without those that import nothing else that is left: none of these is on a circle."""
    left = dict(graph)
    while free := [module for module, others in left.items() if others.isdisjoint(left)]:
        for module in free:
            del left[module]
    return left


def circles(graph: Graph) -> list[str]:
    """A shortest circle through each module that is on one."""
    found = {circle(graph, module) for module in knotted(graph)} - {()}
    return [" > ".join((*way, way[0])) for way in sorted(found)]


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = imports(ROOT)
    assert {name.split(".")[0] for name in graph} == {"rota"}
    assert len(graph) > 200, "the sources were not found"
    assert circles(graph) == []


TREE = {
    "model/rota/spec/__init__.py": "from rota.spec.rules import join\n",
    "model/rota/spec/state.py": "import re\n",
    "model/rota/spec/rules.py": "from rota.spec import state\nfrom rota.spec.state import Group\n",
    "impl/rota/wire/__init__.py": "",
    "impl/rota/wire/codec.py": "from rota.spec import join\n",
    "impl/rota/wire/frames.py": "import rota.wire.codec\n",
    "kit/rota/cli/__init__.py": "",
    "kit/rota/cli/main.py": "COMMANDS = {'join': 'rota.spec.rules:join'}\n",
}
"""File → source. There is no circle, though modules import others of their own package."""

DIRECT = "rota.wire.codec > rota.wire.frames > rota.wire.codec"
OF_PACKAGE = "rota.spec > rota.spec.rules > rota.spec"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path, text in TREE.items():
        plant(tmp_path, path, text)
    return tmp_path


def plant(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_a_tree_without_circles(tree: Path) -> None:
    graph = imports(tree)
    assert circles(graph) == []
    assert graph["rota.spec.rules"] == {"rota.spec.state"}
    assert graph["rota.wire.codec"] == {"rota.spec"}
    assert graph["rota.cli.main"] == {"rota.spec.rules"}


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("impl/rota/wire/codec.py", "import rota.wire.frames\n", DIRECT),
        ("impl/rota/wire/codec.py", "from rota.wire import frames\n", DIRECT),
        ("impl/rota/wire/codec.py", "from rota.wire.frames import frame\n", DIRECT),
        ("impl/rota/wire/codec.py", "def f():\n    from rota.wire.frames import frame\n", DIRECT),
        ("impl/rota/wire/codec.py", "if TYPE_CHECKING:\n    from rota.wire.frames import Frame\n", DIRECT),
        ("impl/rota/wire/codec.py", "FRAMES = 'rota.wire.frames:frame'\n", DIRECT),
        ("impl/rota/wire/codec.py", "FRAMES = import_module('rota.wire.frames')\n", DIRECT),
        ("model/rota/spec/rules.py", "from rota.spec import join\n", OF_PACKAGE),
        ("model/rota/spec/rules.py", "def f():\n    import rota.spec\n", OF_PACKAGE),
        (
            "model/rota/spec/state.py",
            "MAIN = 'rota.cli.main:main'\n",
            "rota.cli.main > rota.spec.rules > rota.spec.state > rota.cli.main",
        ),
    ],
)
def test_a_planted_circle_is_found(tree: Path, path: str, text: str, found: str) -> None:
    plant(tree, path, TREE[path] + text)
    assert circles(imports(tree)) == [found]
