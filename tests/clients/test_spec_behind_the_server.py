"""A coordinator that does what the spec does not allow fails a test, whether its clients notice or not: most
often they do not, though the connection ends on which it was found."""

import pytest

from harness.clients.planted import judged
from rota.clients.performances import Case
from rota.clients.producers import Producers
from rota.coordinator import Arm, Effects, GroupCoordinator
from rota.oracle.report import Divergence
from rota.oracle.shadow import Shadow
from rota.server import running


class Patient(GroupCoordinator):
    """Gives every member that heartbeats twice its session."""

    def heartbeat(self, *request):
        effects = super().heartbeat(*request)
        timers = [
            Arm(wish.timer_id, 2 * wish.delay_ms) if isinstance(wish, Arm) else wish
            for wish in effects.timers
        ]
        return Effects(effects.replies, tuple(timers), effects.appends)


def test_a_divergence_fails_the_test():
    case = Case("rolling_restart", "librdkafka")
    if case.missing:
        pytest.skip(f"{', '.join(case.missing)} not installed")
    shadows = []

    def coordinator(config, choices):
        shadows.append(Shadow(config, choices, make=Patient))
        return shadows[-1]

    with running({"group.initial.rebalance.delay.ms": 100}, coordinator=coordinator) as address:
        producers = Producers(address)
        played = case.play(address, producers)
        producers.close()
    with pytest.raises(Divergence, match=r"timer session [^\n]* armed for 12,000 ms, not"):
        judged(played, shadows)
