"""The dialogues, a module for each part of the protocol; importing this package registers them all."""

from rota.conformance.cases import (  # noqa: F401 - each registers its cases
    heartbeat,
    join_admission,
    join_again,
    join_phase,
    leave,
    sync,
    sync_checks,
    timers,
    voting,
    wire,
)
