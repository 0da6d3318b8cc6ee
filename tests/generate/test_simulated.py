"""The simulated group along which plans are drawn: time passes in it, whatever its timeouts are."""

from __future__ import annotations

import pytest

from rota.generate.settings import broker_config
from rota.generate.simulated import LEAST_MS, Simulated
from rota.kernel import FrozenMap
from rota.spec import KAFKA_4, Group, GroupState, Member, ProtocolMetadata, Spec, Timer

SESSION_MS = 4500


def test_a_join_phase_that_nobody_can_lead_lets_time_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A static member has not rejoined within a rebalance timeout of nothing: the phase begins anew."""
    fired = []
    fire = Spec.fire

    def counted(spec, group, timer):
        fired.append(timer)
        assert len(fired) <= SESSION_MS, "time does not pass"
        return fire(spec, group, timer)

    monkeypatch.setattr(Spec, "fire", counted)
    simulated = Simulated(broker_config({}), KAFKA_4)
    absent = Member(0, SESSION_MS, (ProtocolMetadata("range", b""),), group_instance_id="i")
    simulated.group = Group(
        GroupState.PREPARING_REBALANCE, 9, "consumer", "range", "m", FrozenMap({"m": absent})
    )
    join, session = Timer("join", ""), Timer("session", "m")
    simulated.due = {join: 0, session: SESSION_MS}
    simulated.wait(SESSION_MS - 1)
    assert set(fired) == {join}
    assert len(fired) == SESSION_MS // LEAST_MS
    simulated.wait(1)
    assert session in fired
