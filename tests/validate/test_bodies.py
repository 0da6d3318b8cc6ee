"""Bodies as lines have them: bytes are base64 there, in those that have any."""

from __future__ import annotations

import pytest

from rota.validate.frames import OF_GROUPS, WITHOUT_BYTES, body_of
from rota.wire.schema import api


def has_bytes(fields):
    return any(one.type == "bytes" or has_bytes(one.fields) for one in fields)


@pytest.mark.parametrize("name", OF_GROUPS)
def test_only_those_without_bytes_are_read_as_they_are(name):
    told = api(name)
    assert (name in WITHOUT_BYTES) is not has_bytes((*told.request, *told.response))


def test_bytes_are_read_where_there_are_some():
    assert body_of("SyncGroup", {"assignment": {"base64": "AAE="}}) == {"assignment": b"\0\1"}
    assert body_of("Heartbeat", {"error_code": 0}) == {"error_code": 0}
