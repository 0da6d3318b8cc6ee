"""The simulated group along which plans are drawn: time passes in it, whatever its timeouts are."""

from __future__ import annotations

import pytest

from rota.generate.settings import broker_config
from rota.generate.simulated import LEAST_MS, Simulated
from rota.kernel import FrozenMap
from rota.spec import KAFKA_4, Call, Group, GroupState, Member, ProtocolMetadata, Spec, Timer
from rota.spec.offset_messages import OffsetCommitPartition, OffsetCommitRequest, OffsetCommitTopic

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


RETENTION_MS, EVERY_MS = 700, 2000


def committed_at(simulated: Simulated, retention_ms: int) -> None:
    """An offset of a group that nobody is in."""
    topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, 7, -1, ""),)),)
    request = OffsetCommitRequest("g", topics, retention_time_ms=retention_ms)
    simulated.handle(Call(request, "0", 4, now_ms=simulated.now))


def test_what_has_expired_goes_with_the_next_look() -> None:
    """Looks come in equal distances; the one after the offset's expiry is what is due."""
    simulated = Simulated(broker_config({}), KAFKA_4, EVERY_MS)
    simulated.wait(EVERY_MS - 500)
    committed_at(simulated, RETENTION_MS)
    assert simulated.next_due() == 2 * EVERY_MS
    simulated.wait(2 * EVERY_MS - 1 - simulated.now)
    assert simulated.group is not None
    simulated.wait(1)
    assert simulated.group is None
    assert not simulated.kept.offsets.committed
    assert ("expiry.simple-group", "Empty") in simulated.pairs


def test_without_looks_nothing_expires() -> None:
    simulated = Simulated(broker_config({}), KAFKA_4)
    committed_at(simulated, RETENTION_MS)
    assert simulated.next_due() is None
    simulated.wait(10 * EVERY_MS)
    assert simulated.group is not None


def test_looks_begin_anew_with_a_restart() -> None:
    simulated = Simulated(broker_config({}), KAFKA_4, EVERY_MS)
    committed_at(simulated, RETENTION_MS)
    simulated.wait(900)
    simulated.restart(broker_config({}))
    assert simulated.next_due() == 900 + EVERY_MS
