"""A broker that runs and does not let us in is not one that has to be started."""

from __future__ import annotations

import pytest

from rota.conformance.connections.connection import NotAdmitted, NotListening
from rota.explain import watching
from rota.explain.watching import Asker, Unasked

AT = ("127.0.0.1", 9)


@pytest.mark.parametrize(
    ("error", "remedy", "not_said"),
    [
        (NotAdmitted("127.0.0.1:9: SASL_AUTHENTICATION_FAILED"), "--command-config", "start the broker"),
        (NotListening("127.0.0.1:9: Connection refused"), "start the broker", "--command-config"),
    ],
)
def test_the_remedy_is_of_the_cause(monkeypatch, error, remedy, not_said):
    def refused(*about):
        raise error

    monkeypatch.setattr(watching, "Connection", refused)
    with pytest.raises(Unasked, match=remedy) as told:
        Asker(AT, 1.0).groups()
    assert not_said not in str(told.value)
