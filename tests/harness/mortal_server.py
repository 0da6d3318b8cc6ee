"""rota's own server as a process that a certain request ends: `python mortal_server.py PORT`."""

from __future__ import annotations

import os
import sys
import threading

from rota.coordinator import Effects, GroupCoordinator, LeaveGroup, Token
from rota.server import running

LAST_WORDS = "panic: nobody leaves"


class Mortal(GroupCoordinator):
    """A LeaveGroup of nobody ends the process."""

    def leave_group(self, request: LeaveGroup, version: int, token: Token) -> Effects:
        """As of the coordinator, if somebody leaves."""
        if not request.members and not request.member_id:
            print(f"{LAST_WORDS}\nat line {os.getpid()}", file=sys.stderr, flush=True)
            os._exit(2)
        return super().leave_group(request, version, token)


def main(port: int) -> None:
    """Serve, until somebody sends a signal or that request."""
    with running({"group.initial.rebalance.delay.ms": 0}, port=port, coordinator=Mortal):
        threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
