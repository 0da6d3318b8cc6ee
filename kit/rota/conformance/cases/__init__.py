"""The dialogues, grouped by what they need; importing this package registers them all."""

from rota.conformance.cases import (  # noqa: F401 - each registers its cases
    heartbeat,
    join_admission,
    join_again,
    join_answers,
    join_phase,
    leave,
    persistence,
    sync,
    sync_checks,
    timers,
    timers_delay,
    voting,
    wire,
)
