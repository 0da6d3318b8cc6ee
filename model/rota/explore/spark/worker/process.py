"""What a process with numba remembers of a system from round to round, and from run to run."""

from __future__ import annotations

from collections.abc import Mapping

from rota.explore.compiled.lookups import Lookups
from rota.explore.spark.combinations import Journal
from rota.explore.spark.protocol import Job, Judged
from rota.explore.spark.worker.judging import Judging
from rota.explore.spark.worker.memo import recalling
from rota.explore.spark.worker.numbers import Numbers
from rota.explore.spark.worker.surroundings import rebuilt
from rota.explore.tables.system import Tables


class Process:
    """One system's tables. Its machines' answers that other processes know are not computed."""

    def __init__(self, job: Job) -> None:
        self.run = ""
        self.system = recalling(rebuilt(job))
        self.tables = Tables(self.system)
        self.lookups = Lookups(self.tables)
        self.numbers = Numbers(self.tables)
        self._judging, self._journal = Judging(self.tables), Journal()

    def begin(self, job: Job) -> None:
        """Numbers are those of one run; what the tables have learned is kept."""
        if self.run != job.run:
            self.numbers = Numbers(self.tables)
            self.run = job.run

    def judged(self, known: Mapping[str, int]) -> Judged:
        """What properties were judged on, less what the driver has. known: as of `Order.judged`."""
        self._journal.note(self._judging.news())
        return self._journal.told(known)
