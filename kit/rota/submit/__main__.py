"""`python -m rota.submit` prints where this file is; Spark runs `rota` by it, with what follows as arguments:

spark-submit --master spark://HOST:7077 "$(python -m rota.submit)" check --engine spark --scope small
"""

from __future__ import annotations

import sys

from rota.__main__ import entry

if __name__ == "__main__":
    if len(sys.argv) > 1:
        entry()
    print(__file__)
