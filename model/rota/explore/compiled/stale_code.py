"""Compiled code on disk is kept for each file by itself; what it calls elsewhere may have changed since."""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from rota.kernel import encoding

HERE = Path(__file__).parent
STAMP = "compiled-from"


def forget_stale(folder: Path = HERE, *others: Path) -> bool:
    """Delete compiled code in a package's __pycache__ that was made from other sources; whether any was.

    Functions and constants of one module are compiled into those of another, whose file does not change with
    them; this package's are always taken into account, `others` are more folders that count. Where nothing
    can be written or read (an archive) the compiler keeps its code elsewhere and this does nothing.
    """
    ours = {path for place in (HERE, folder, *others) for path in place.glob("*.py")}
    sources = [*sorted(ours), Path(encoding.__file__)]
    cache = folder / "__pycache__"
    stamp = cache / STAMP
    with suppress(OSError):
        made_from = blake2b(b"\0".join(path.read_bytes() for path in sources), digest_size=16).hexdigest()
        if stamp.exists() and stamp.read_text(encoding="ascii") == made_from:
            return False
        cache.mkdir(exist_ok=True)
        for kept in (*cache.glob("*.nbi"), *cache.glob("*.nbc")):
            kept.unlink(missing_ok=True)
        stamp.write_text(made_from, encoding="ascii")
        return True
    return False
