"""The page of a night on Apache Kafka does what it says, command by command, on a night that is played."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.commands import ROOT, Terminal
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.report.site.blocks import Block, Mark, blocks

PAGE = (ROOT / "docs" / "at-3-am.md").read_text(encoding="utf-8")
PLAYED = "a night of Kafka, which Maven fetches"


def commands() -> list[Block]:
    return [block for block in blocks(PAGE) if block.why == PLAYED]


def test_the_page_plays_a_night_first_and_reads_what_it_left() -> None:
    first, *later = [command.text for block in commands() for command in block.commands]
    assert first.startswith("make nights NIGHTS=")
    assert len(later) > 5
    assert all("rota-out/night/" in text or text.startswith("ls ") for text in later)


@pytest.mark.long
def test_every_command_does_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = RELEASES["kafka-4.4.0"]
    try:
        jars = fetched(release)
    except NoJars as cause:
        pytest.skip(f"kafka-4.4.0: {cause}")
    terminal = Terminal(tmp_path)
    here = {**terminal.environment(), "ROTA_CACHE": str(jars.parents[1])}
    monkeypatch.setattr(terminal, "environment", lambda: here)
    page = "\n".join(f"```{one.language} long\n{chr(10).join(one.body)}\n```" for one in commands())
    problems = [f"$ {one.text}\n{one.problem}" for one in terminal.follow(page, [Mark.LONG]) if one.problem]
    assert problems == []
