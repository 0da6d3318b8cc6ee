"""The whole of rota as one zip from which it can be imported; Spark's workers get it.

`rota` is a namespace package spread over several folders. From a zip such a package is found only if the
zip has entries for directories, so an ordinary archive of the files would not do.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry (the earliest that a zip can hold), so that equal sources give equal bytes."""


def write(target: Path) -> Path:
    """Write the archive to `target` and return it: all roots merged, sorted, the same bytes each time."""
    content = dict(_content())
    folders = {f"{parent.as_posix()}/" for name in content for parent in Path(name).parents if parent.name}
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name in sorted([*folders, *content]):
            info = ZipInfo(name, EPOCH)
            info.compress_type = ZIP_DEFLATED
            info.external_attr = (0o40755 if name.endswith("/") else 0o100644) << 16
            archive.writestr(info, content[name].read_bytes() if name in content else b"")
    return target


def digest() -> str:
    """What this rota is made of, as 32 hexadecimal digits: equal for equal sources, archived or not."""
    hashed = blake2b(digest_size=16)
    for name, path in sorted(_content()):
        content = path.read_bytes()
        hashed.update(f"{name}\0{len(content)}\0".encode() + content)
    return hashed.hexdigest()


def _content() -> Iterator[tuple[str, Path]]:
    """Every file of every root as (name in the archive, path)."""
    spec = find_spec("rota")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    for root in map(Path, spec.submodule_search_locations):
        for path in root.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield (Path("rota") / path.relative_to(root)).as_posix(), path
