"""The layout keeps its rules: arrows between packages, sizes, docstrings, words, no code twice.

Each rule is a function from a tree to a list of problems; this checkout has none, and each is shown to
find what is planted in a temporary tree.
"""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("model", "impl", "proofs", "kit")

MODEL_LAYERS = frozenset({"kernel", "spec", "environment", "invariants"})
ENGINES = frozenset({"numpy", "numba", "llvmlite", "pyspark", "py4j"})


@dataclass(frozen=True)
class Arrow:
    """What a package of rota may import: packages of rota, and distributions beside the standard library."""

    rota: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()


ARROWS = {
    "model/kernel": Arrow(),
    "model/spec": Arrow(frozenset({"kernel"})),
    "model/environment": Arrow(frozenset({"kernel", "spec"})),
    "model/invariants": Arrow(frozenset({"kernel", "spec", "environment"})),
    "model/designs": Arrow(frozenset({"kernel"})),
    "model/explore": Arrow(frozenset({"kernel"}), ENGINES | {"networkx"}),
    "model/trace": Arrow(frozenset({"kernel"}), ENGINES),
    "model/scopes": Arrow(MODEL_LAYERS),
    "impl/wire": Arrow(outside=frozenset({"google_crc32c"})),
    "impl/coordinator": Arrow(),
    "impl/log": Arrow(frozenset({"wire"})),
    "impl/transactions": Arrow(),
    "impl/security": Arrow(),
    "impl/server": Arrow(
        frozenset({"coordinator", "log", "security", "transactions", "wire"}), frozenset({"uvloop"})
    ),
    "impl/control": Arrow(frozenset({"coordinator", "server", "wire"})),
    "proofs/proofs": Arrow(frozenset({"spec", "invariants"}), frozenset({"z3"})),
}
"""SOURCE/PACKAGE → what it may import, itself always. The kit may import everything; nothing imports it."""

LINES = {"model/spec": 250}
"""The most lines of a module, where it is not 400."""

# The brackets keep each pattern from matching its own line. Each begins with a certain character, and none is
# a choice of several: such are found fast.
WORDS = {
    "a path of one machine": (r"/(?<![\w.~-]/)(?:[h]ome|[r]oot|[w]ork|[U]sers)/",),
    "a package index": (
        r"index[-]url(?<!emit-index[-]url)",
        r"pypi[.]org",
        r"python[h]osted",
        r"[a]rtifactory",
        r"/[s]imple/",
    ),
    "where the work is organised": (
        r"[s]hared/",
        r"[c]ontracts\.md",
        r"[i]ssues?[ ]#?\d",
        r"[s]ub-?agents?\b",
    ),
}
"""What is said → patterns that find it."""

NAMES_A_MODULE = re.compile(r"rota(\.\w+)+(:\w+)?")

MANY = 6
"""Statements from which on the same function twice is one too many."""


def modules(root: Path) -> Iterator[Path]:
    """All Python files of the four sources."""
    for source in SOURCES:
        yield from sorted((root / source).rglob("*.py"))


def package_of(root: Path, module: Path) -> str:
    """SOURCE/PACKAGE of a file below SOURCE/rota."""
    parts = module.relative_to(root).parts
    return "/".join(parts[:3:2])


def parsed(module: Path) -> ast.Module:
    return tree_of(module.read_text(encoding="utf-8"))


@cache
def tree_of(source: str) -> ast.Module:
    """Several rules look at it, and none changes it."""
    return ast.parse(source)


@cache
def imported(tree: ast.Module) -> tuple[tuple[int, str], ...]:
    """(line, dotted name) of each import, wherever it stands, and each text that names a module of rota."""
    return (*found_in(tree),)


def found_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Those, while it is gone through."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            where = "." * node.level + (node.module or "")
            names = [f"{where}.{alias.name}" for alias in node.names] if where == "rota" else [where]
            yield from ((node.lineno, name) for name in names)
        elif isinstance(node, ast.Constant) and NAMES_A_MODULE.fullmatch(str(node.value)):
            yield node.lineno, str(node.value).partition(":")[0]


def arrows(root: Path) -> Iterator[str]:
    """Imports against the arrows."""
    for module in modules(root):
        package = package_of(root, module)
        if package.startswith("kit/"):
            continue
        where = module.relative_to(root)
        if package not in ARROWS:
            yield f"{where}: no arrow says what {package} may import"
            continue
        own, allowed = package.partition("/")[2], ARROWS[package]
        for line, name in imported(parsed(module)):
            first, _, rest = name.partition(".")
            if first == "rota":
                fine = rest.partition(".")[0] in allowed.rota | {own}
            else:
                fine = first in sys.stdlib_module_names or first in allowed.outside
            if not fine:
                yield f"{where}:{line}: {package} may not import {name}"


def relative_imports(root: Path) -> Iterator[str]:
    """Imports that do not say from where."""
    for module in modules(root):
        for line, name in imported(parsed(module)):
            if name.startswith("."):
                yield f"{module.relative_to(root)}:{line}: relative import {name}"


def layout(root: Path) -> Iterator[str]:
    """One namespace over four sources, a page in each at most; code only in packages; one py.typed."""
    for source in SOURCES:
        if (root / source / "rota" / "__init__.py").exists():
            yield f"{source}/rota/__init__.py: rota is a namespace, it has no __init__.py"
        for other in (root / source).glob("*"):
            if other.name not in ("rota", "__pycache__", "README.md"):
                yield f"{source}/{other.name}: only rota lives here"
    for folder in sorted({module.parent for module in modules(root)}):
        if folder.name != "rota" and not (folder / "__init__.py").exists():
            yield f"{folder.relative_to(root)}: no __init__.py"
    typed = [
        path.relative_to(root).as_posix() for source in SOURCES for path in (root / source).rglob("py.typed")
    ]
    if typed != ["model/rota/py.typed"]:
        yield f"py.typed belongs in model/rota alone, it is in {typed}"


def sizes(root: Path) -> Iterator[str]:
    """Modules that are too long."""
    for module in modules(root):
        lines = len(module.read_text(encoding="utf-8").splitlines())
        most = LINES.get(package_of(root, module), 400)
        if lines > most:
            yield f"{module.relative_to(root)}: {lines} lines, {most} are allowed"


def docstrings(root: Path) -> Iterator[str]:
    """Modules and packages that do not say what they are for."""
    for module in modules(root):
        if not ast.get_docstring(parsed(module)):
            yield f"{module.relative_to(root)}: no docstring"


def files(root: Path) -> list[Path]:
    """What is or will be committed: tracked, or new and not ignored; without git, all but hidden folders."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [path for name in listed.stdout.split("\0") if name and (path := root / name).is_file()]
    paths = (path for path in root.rglob("*") if path.is_file())
    return [path for path in paths if not any(part.startswith(".") for part in path.relative_to(root).parts)]


def words(root: Path) -> Iterator[str]:
    """Text that means something on one machine, or to those who wrote it, only."""
    for path in files(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for meaning, pattern in ((meaning, one) for meaning, some in WORDS.items() for one in some):
            for found in re.finditer(pattern, text):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path.relative_to(root)}:{line}: {found[0]!r} is {meaning}"


Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Plain(ast.NodeTransformer):
    """Takes out of a function what is not its meaning: names of variables, annotations, docstrings."""

    def __init__(self, function: Function) -> None:
        self.names: dict[str, str] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                self.names.setdefault(node.arg, f"v{len(self.names)}")
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.names.setdefault(node.id, f"v{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self.names[node.arg], None)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return self.generic_visit(ast.Assign([node.target], node.value))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.Pass() if isinstance(node.value, ast.Constant) else self.generic_visit(node)


def without_docstring(function: Function) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function, clean=False) else function.body


def outline(function: Function) -> tuple[tuple[type, ...], ...]:
    """The kinds of its statements and of what these are made of: two with the same meaning have the same."""
    body = without_docstring(function)
    return tuple(kinds(node) for top in body for node in ast.walk(top) if isinstance(node, ast.stmt))


def kinds(statement: ast.stmt) -> tuple[type, ...]:
    """As `_Plain` leaves them."""
    if isinstance(statement, ast.AnnAssign):
        value = statement.value
        return (ast.Assign, type(statement.target), type(value)) if value else (ast.Pass,)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return (ast.Pass,)
    return (type(statement), *map(type, ast.iter_child_nodes(statement)))


def plain_body(function: Function) -> str:
    """The function's meaning as text."""
    plain = _Plain(function)
    copy = pickle.loads(pickle.dumps(without_docstring(function)))
    return "\n".join(ast.dump(plain.visit(node)) for node in copy)


def duplicates(root: Path) -> Iterator[str]:
    """Functions with the same body, but for the names of their variables."""
    alike: dict[object, list[tuple[str, Function]]] = defaultdict(list)
    for module in modules(root):
        for node in ast.walk(parsed(module)):
            if isinstance(node, Function) and len(form := outline(node)) >= MANY:
                place = f"{module.relative_to(root)}:{node.lineno} {node.name}"
                alike[form].append((place, node))
    for some in alike.values():
        seen: dict[str, list[str]] = defaultdict(list)
        for place, node in some if len(some) > 1 else ():
            seen[plain_body(node)].append(place)
        yield from (f"the same body: {', '.join(places)}" for places in seen.values() if len(places) > 1)


RULES: tuple[Callable[[Path], Iterator[str]], ...] = (
    arrows,
    relative_imports,
    layout,
    sizes,
    docstrings,
    words,
    duplicates,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_this_checkout(rule: Callable[[Path], Iterator[str]]) -> None:
    assert sum(1 for _ in modules(ROOT)) > 50, "the sources were not found"
    assert list(rule(ROOT)) == []


DOC = '"""A module."""\n'
LONG = """def rest(group, key):
    rest = []
    for one in group:
        if one == key:
            continue
        rest.append(one)
    rest.sort()
    return rest
"""
LONG_TYPED = '''def others(members: list[str], me: str) -> list[str]:
    """All but me."""
    left: list[str] = []
    for name in members:
        if name == me:
            continue
        left.append(name)
    left.sort()
    return left
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree in which all is well."""
    for source, packages in {
        "model": ["kernel", "spec", "explore", "invariants", "environment", "trace"],
        "impl": ["coordinator", "wire", "server"],
        "proofs": ["proofs"],
        "kit": ["cli"],
    }.items():
        for package in packages:
            plant(tmp_path, f"{source}/rota/{package}/__init__.py", DOC)
    plant(tmp_path, "model/rota/py.typed", "")
    plant(tmp_path, "model/rota/spec/join.py", DOC + "import re\nfrom rota.kernel import rule\n")
    plant(tmp_path, "model/rota/explore/search.py", DOC + "import numpy\nimport rota.kernel.system\n")
    plant(tmp_path, "kit/rota/cli/main.py", DOC + "import click\nfrom rota.spec import join\n")
    plant(tmp_path, "README.md", "Sessions of members, shared by all; /tmp/x, a/home/b, 10 issues.\n")
    return tmp_path


def plant(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_a_clean_tree_has_no_problems(tree: Path) -> None:
    assert [problem for rule in RULES for problem in rule(tree)] == []


@pytest.mark.parametrize(
    ("rule", "path", "text", "problem"),
    [
        (arrows, "impl/rota/coordinator/x.py", "from rota.spec import voting", "may not import rota.spec"),
        (arrows, "impl/rota/coordinator/x.py", "import rota.wire", "may not import rota.wire"),
        (arrows, "impl/rota/coordinator/x.py", "import click", "may not import click"),
        (arrows, "impl/rota/wire/x.py", "from rota import coordinator", "may not import rota.coordinator"),
        (arrows, "impl/rota/server/x.py", "import rota.kernel", "may not import rota.kernel"),
        (arrows, "model/rota/kernel/x.py", "import rota.spec.join", "may not import rota.spec.join"),
        (arrows, "model/rota/kernel/x.py", "import numpy as np", "may not import numpy"),
        (arrows, "model/rota/explore/x.py", "import rota.environment", "may not import rota.environment"),
        (arrows, "model/rota/explore/x.py", "FACTORY = 'rota.spec:system'", "may not import rota.spec"),
        (arrows, "model/rota/trace/x.py", "from rota.explore import Result", "may not import rota.explore"),
        (arrows, "model/rota/spec/x.py", "def f():\n    import rota.wire", "may not import rota.wire"),
        (arrows, "model/rota/environment/x.py", "import rota.invariants", "may not import rota.invariants"),
        (arrows, "model/rota/invariants/x.py", "from rota.cli import main", "may not import rota.cli"),
        (arrows, "proofs/rota/proofs/x.py", "import rota.coordinator", "may not import rota.coordinator"),
        (arrows, "impl/stray.py", "", "no arrow says what impl may import"),
        (arrows, "impl/rota/extra/__init__.py", "", "no arrow says what impl/extra may import"),
        (relative_imports, "kit/rota/cli/x.py", "from . import main", "relative import ."),
        (layout, "impl/rota/__init__.py", "", "impl/rota/__init__.py: rota is a namespace"),
        (layout, "kit/rota/cli/deep/x.py", "", "kit/rota/cli/deep: no __init__.py"),
        (layout, "kit/rota/py.typed", "", "py.typed belongs in model/rota alone, it is in ['model/rota"),
        (layout, "kit/data/x.txt", "", "kit/data: only rota lives here"),
        (sizes, "model/rota/spec/x.py", "x = 1\n" * 250, "251 lines, 250 are allowed"),
        (sizes, "kit/rota/cli/x.py", "x = 1\n" * 400, "401 lines, 400 are allowed"),
        (words, "docs/x.md", "see /" + "home/me/rota", "a path of one machine"),
        (words, "docs/x.md", "see (/" + "work/main)", "a path of one machine"),
        (words, "locks/x.txt", "--index" + "-url https://x", "a package index"),
        (words, "docs/x.md", "from files.python" + "hosted.org", "a package index"),
        (words, "docs/x.md", "as sha" + "red/design.md says", "where the work is organised"),
        (words, "docs/x.md", "for issue" + " 3", "where the work is organised"),
    ],
)  # fmt: skip
def test_planted_problems_are_found(
    tree: Path, rule: Callable[[Path], Iterator[str]], path: str, text: str, problem: str
) -> None:
    plant(tree, path, DOC + text if path.endswith(".py") else text)
    found = list(rule(tree))
    assert len(found) == 1, found
    assert problem in found[0]
    assert path.rpartition("/")[0] in found[0]


def test_a_module_without_docstring_is_found(tree: Path) -> None:
    plant(tree, "impl/rota/wire/x.py", "x = 1\n")
    plant(tree, "impl/rota/server/__init__.py", "")
    assert list(docstrings(tree)) == [
        "impl/rota/server/__init__.py: no docstring",
        "impl/rota/wire/x.py: no docstring",
    ]


def test_the_same_function_under_other_names_is_found(tree: Path) -> None:
    plant(tree, "model/rota/spec/a.py", DOC + LONG)
    plant(tree, "impl/rota/wire/b.py", DOC + LONG_TYPED)
    (found,) = duplicates(tree)
    assert "impl/rota/wire/b.py:2 others" in found
    assert "model/rota/spec/a.py:2 rest" in found


def test_functions_that_differ_or_are_small_are_no_duplicates(tree: Path) -> None:
    plant(tree, "model/rota/spec/a.py", DOC + LONG)
    plant(tree, "impl/rota/wire/b.py", DOC + LONG.replace("==", "!="))
    for path in ("kit/rota/cli/a.py", "kit/rota/cli/b.py"):
        plant(tree, path, DOC + "def small(x):\n    y = x\n    return y\n")
    assert list(duplicates(tree)) == []
