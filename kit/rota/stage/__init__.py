"""The language in which rebalances are told: one group in virtual time, and those who ask it.

`Stage` is the group with its clock, timers, log and offsets, under any profile, with the coordinator core
beside it or without. Who asks is a `Client` with a memory. `text` puts a stage into words.
"""

from rota.stage.beside import NotBesideCore
from rota.stage.clients import Asked, Client
from rota.stage.happenings import Happening
from rota.stage.looks import Written
from rota.stage.naming import naming
from rota.stage.stage import Stage

__all__ = ["Asked", "Client", "Happening", "NotBesideCore", "Stage", "Written", "naming"]
