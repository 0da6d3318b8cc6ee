"""rota's coordinator and topics behind Kafka's wire protocol: one broker on 127.0.0.1.

All is in memory, but for the groups if there is a folder to keep them in.

The only place with sockets, clocks and random numbers. `running` is for tests and the kit, `controlled` for
tests of clients, which hold the server in hand; `serve` is for the command line, `Server` for programs that
have an event loop already.

What the server logs goes where the program that hosts it sends it (`logging`), and nowhere unasked.
"""

import logging

from rota.server.broker import Server, running, serve
from rota.server.controlled import ControlledBroker, controlled
from rota.server.controls import ControlError
from rota.server.settings import KNOWN, SERVED, USUAL, Settings, SettingsError, default
from rota.server.storage import DataDir, StorageError

__all__ = [
    "KNOWN",
    "SERVED",
    "USUAL",
    "ControlError",
    "ControlledBroker",
    "DataDir",
    "Server",
    "Settings",
    "SettingsError",
    "StorageError",
    "controlled",
    "default",
    "running",
    "serve",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())
