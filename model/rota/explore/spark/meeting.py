"""What processes know only together: the types of their values, and values that equal each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rota.explore.spark.protocol import Report
from rota.explore.spark.worker.plain_tables import Values
from rota.kernel import System, UserError
from rota.kernel.encoding import TwinTypes


class Meeting:
    """What the driver knows of the types of all processes. types: as `Encoding.claims`."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.types: dict[bytes, str] = {}

    def know(self, reports: Iterable[Report]) -> None:
        """What values are of, in some processes. Errors: UserError for two types that are encoded alike."""
        for report in reports:
            for claim, name in report.types.items():
                known = self.types.setdefault(claim, name)
                if known != name:
                    raise UserError(f"system {self._system.name}", str(TwinTypes.of(known, name)))

    def compare(self, values: Iterable[Sequence[Iterable[Any]] | None]) -> None:
        """Values of processes, by machine. Errors: UserError for two that are equal and not the same."""
        together = Values(len(self._system.machines))
        for of_machines in values:
            for position, some in enumerate(of_machines or ()):
                for value in some:
                    together.number(position, value)

    def saved(self) -> dict[str, str]:
        """The types as texts."""
        return {claim.hex(): name for claim, name in self.types.items()}

    def recall(self, saved: Mapping[str, str]) -> None:
        """Begin with the types of an ended run, given as `saved` gave them."""
        self.types = {bytes.fromhex(claim): name for claim, name in saved.items()}
