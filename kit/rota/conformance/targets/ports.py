"""Ports for brokers that have to be told theirs."""

from __future__ import annotations

import secrets
import socket
import threading

_FIRST, _NUMBER = 12_000, 18_000
_given: set[int] = set()
_lock = threading.Lock()


def free_ports(number: int) -> list[int]:
    """Ports below those that the system gives to outgoing connections, which would take them meanwhile.

    None is given twice by one process: between this and the broker's own bind, others start theirs.
    """
    sockets: list[socket.socket] = []
    try:
        while len(sockets) < number:
            tried = socket.socket()
            try:
                tried.bind(("127.0.0.1", _candidate()))
            except OSError:
                tried.close()
            else:
                sockets.append(tried)
        return [bound.getsockname()[1] for bound in sockets]
    finally:
        for bound in sockets:
            bound.close()


def hold(port: int) -> socket.socket:
    """Keep a port while nobody listens there: a target that is down comes back to it. Close it to give it up.

    In the meantime somebody else's target would be taken for it. `free_ports` of every process passes over
    what is held; whoever asks to reuse addresses, as a broker does, may listen there. Errors: OSError.
    """
    held = socket.socket()
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", port))
    except OSError:
        held.close()
        raise
    return held


def _candidate() -> int:
    """A port that was not given before, unless all were."""
    with _lock:
        if len(_given) == _NUMBER:
            _given.clear()
        while (port := _FIRST + secrets.randbelow(_NUMBER)) in _given:
            pass
        _given.add(port)
        return port
