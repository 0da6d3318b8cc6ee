"""Write the pages: `python -m rota.report.reference [FOLDER]`, by default docs/reference."""

from __future__ import annotations

import sys
from pathlib import Path

from rota.report.reference.pages import pages


def main(folder: Path) -> None:
    """Write every page into a folder; what else is there stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference"))
