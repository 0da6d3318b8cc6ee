"""Error codes are named wherever they are told, with the number on the wire; unknown ones are numbers."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from kio.schema.errors import ErrorCode

from rota.cli.conform import conform
from rota.conformance.connections.connection import Answer, SentRequest
from rota.conformance.connections.error_codes import error_name, with_codes
from rota.conformance.dialogues.dialogue import Dialogue, Reply
from rota.conformance.dialogues.failures import Deviation
from rota.coordinator import HeartbeatReply, core
from rota.wire.error_codes import ERROR_CODES


def test_the_table_is_kafkas() -> None:
    assert {code.name.upper(): code.value for code in ErrorCode}.items() <= ERROR_CODES.items()
    assert sorted(ERROR_CODES.values()) == list(range(-1, len(ERROR_CODES) - 1))


def test_names_have_their_numbers_and_unknown_numbers_stay() -> None:
    assert with_codes("got UNKNOWN_MEMBER_ID, not NONE") == "got UNKNOWN_MEMBER_ID (25), not NONE"
    assert with_codes(with_codes("UNKNOWN_SERVER_ERROR")) == "UNKNOWN_SERVER_ERROR (-1)"
    assert with_codes("MY_UNKNOWN_MEMBER_ID") == "MY_UNKNOWN_MEMBER_ID"
    assert (error_name(25), error_name(1234)) == ("UNKNOWN_MEMBER_ID", "error 1234")


def test_codes_within_an_answer_are_named() -> None:
    dialogue = Dialogue(("127.0.0.1", 1), "g", {}, 0.0, 1.0, threading.Event())
    members = [{"member_id": "m", "error_code": 25}]
    answer = Answer({"error_code": 16, "members": members})
    reply = Reply("a", SentRequest("LeaveGroup", 3, 1), answer, 1.0)
    with pytest.raises(Deviation) as found:
        dialogue.expect(reply, error_code=0, members=[])
    assert found.value.expected == "LeaveGroup answered with error code NONE, members []"
    assert found.value.actual.startswith("error code NOT_COORDINATOR, members [(")
    assert "UNKNOWN_MEMBER_ID" in found.value.actual


@pytest.mark.parametrize(("code", "shown"), [(69, "GROUP_ID_NOT_FOUND (69)"), (1234, "error 1234")])
def test_everything_that_is_told_names_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, shown: str
) -> None:
    monkeypatch.setattr(core.heartbeat, "heartbeat", lambda *_: HeartbeatReply(code))
    page = tmp_path / "page.md"
    arguments = ["--embedded", "--report", f"md={page}", "--report", f"json={tmp_path / 'r.json'}"]
    outcome = CliRunner().invoke(conform, [*arguments, "heartbeat.illegal-generation.older"])
    (case,) = json.loads((tmp_path / "r.json").read_text())["cases"]
    assert case["expected"] == "Heartbeat answered with error ILLEGAL_GENERATION (22)"
    assert case["actual"] == f"Heartbeat  {shown}"
    assert any(line.endswith(f"a ← Heartbeat  {shown}") for line in case["dialogue"])
    for text in (outcome.stdout, page.read_text()):
        assert f"actual       Heartbeat  {shown}" in text
        assert f"a ← Heartbeat  {shown}" in text
