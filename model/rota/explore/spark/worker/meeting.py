"""Values that no process had together: each table of the registry is taken in by one task, as a whole."""

from __future__ import annotations

from rota.explore.spark.protocol import Job, Order, TaskOutput
from rota.explore.spark.worker import round


def meet(job: Job, order: Order, partition: int) -> TaskOutput:
    """As `tasks.meet`."""

    def work() -> TaskOutput:
        round._Round(job, order, partition).numbers.meet(partition, job.partitions)
        yield job.partitions, None

    return round._answered(job, partition, work)
