"""Lay the sources of the site out: `python -m rota.report.site FOLDER`, in a checkout."""

from __future__ import annotations

import sys
from pathlib import Path

from rota.report.site import lay_out


def main(folder: Path) -> None:
    """Write everything that Sphinx reads into a folder. Errors: exit 2 outside of a checkout."""
    root = Path.cwd()
    if not (root / "docs" / "conf.py").exists():
        sys.exit(f"no docs/conf.py in {root}; run this in the root of a checkout")
    pages = lay_out(root, folder)
    print(f"{len(pages)} files in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
