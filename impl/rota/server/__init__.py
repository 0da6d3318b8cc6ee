"""rota's coordinator and topics behind Kafka's wire protocol: one broker on 127.0.0.1, all in memory.

The only place with sockets, clocks and random numbers. `running` is for tests and the kit, `serve` for the
command line, `Server` for programs that have an event loop already.
"""

from rota.server.broker import Server, running, serve
from rota.server.settings import KNOWN, SERVED, USUAL, Settings, SettingsError, default

__all__ = ["KNOWN", "SERVED", "USUAL", "Server", "Settings", "SettingsError", "default", "running", "serve"]
