"""A whole server in virtual time: no socket, no clock, the same run every time."""

from rota.virtual.arrival import arrive
from rota.virtual.loop import Listener, TimeStandsStill, Transport, VirtualLoop

__all__ = ["Listener", "TimeStandsStill", "Transport", "VirtualLoop", "arrive"]
