"""The language in which tests tell rebalances: one group in virtual time, and those who ask it.

`Stage` is the group with its clock, timers, log and offsets, under any profile, with the coordinator core
beside it or without. Who asks is a `Client` with a memory; tests of single rules speak through `ById`,
which names member ids and remembers nothing. `text` puts a stage into words.
"""

from harness.stage.beside import NotBesideCore
from harness.stage.clients import Asked, Client
from harness.stage.happenings import Happening
from harness.stage.looks import Written
from harness.stage.naming import naming
from harness.stage.stage import Stage

__all__ = ["Asked", "Client", "Happening", "NotBesideCore", "Stage", "Written", "naming"]
