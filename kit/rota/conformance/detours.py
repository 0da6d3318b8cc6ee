"""Other ways to the state that a case needs, where the usual one fails.

Which are tried depends on what failed alone, not on what came of others: two runs try the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from rota.conformance.dialogues.script import Script
from rota.conformance.dialogues.ways import OTHERS, Way
from rota.conformance.results import DialogueResult, Ending


def around(script: Script, failed: DialogueResult) -> Iterator[Way]:
    """The ways that may lead there where the usual one failed, or took so long that the kit was late."""
    broken = failed.prerequisite if failed.ending is Ending.SETUP_FAILED else ""
    for way in OTHERS:
        fits = way.fits(broken) or (failed.late and not way.one_by_one)
        if fits and way.differs(script.needs, failed.versions, script.spare):
            yield way
