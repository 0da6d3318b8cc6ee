"""What a change of membership costs in the three designs: notifications, requests, rebalances.

Measured on the models: exactly, over all runs of a small group, and by seeded walks through larger ones.
"""

from rota.herd.growth import exponent
from rota.herd.measure import CHANGES, Range, explored, simulated
from rota.herd.subjects import SUBJECTS, Subject
from rota.herd.tally import COUNTS, Tally

__all__ = [
    "CHANGES",
    "COUNTS",
    "SUBJECTS",
    "Range",
    "Subject",
    "Tally",
    "explored",
    "exponent",
    "simulated",
]
