"""One dialogue on one running target."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from rota.conformance.aftermath import died
from rota.conformance.connections.connection import Closed, Garbage, NotListening
from rota.conformance.connections.error_codes import with_codes
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.failures import (
    Deviation,
    Interrupted,
    Late,
    SetupFailed,
    Undecidable,
    Unsupported,
    fault_of_ours,
)
from rota.conformance.dialogues.negotiation import Unreadable, open_with
from rota.conformance.dialogues.script import Script
from rota.conformance.dialogues.transcript import printable
from rota.conformance.dialogues.ways import USUAL, Way
from rota.conformance.restarts import restarts_of
from rota.conformance.results import DOUBTFUL, DialogueResult, Ending
from rota.conformance.targets.target import Running, Target


class Play:
    """From the opening to its end. patience: seconds; stop: ends it where it is set.

    hurried: the target has to answer promptly what it need not wait for.
    """

    def __init__(
        self,
        script: Script,
        running: Running,
        target: Target,
        patience: float,
        stop: threading.Event,
        way: Way,
        hurried: bool = True,
    ) -> None:
        self._script, self._habits = script, target.habits
        self._way, self._hurried = way, hurried
        self._running = running
        self._initial_delay = target.settings_for(script)[INITIAL_DELAY] / 1000
        self._patience = patience + self._initial_delay
        self._stop = stop
        self._dialogue: Dialogue | None = None

    def result(self, group_id: str, unreadable: Unreadable) -> DialogueResult:
        """Play it in the group: how it ended, with everything that was said. Errors: Interrupted."""
        try:
            ended = self._ended(lambda: self._play(group_id, unreadable))
        finally:
            if self._dialogue is not None:
                self._dialogue.close()
        dialogue = self._dialogue
        if dialogue is None:
            return ended
        transcript = dialogue.transcript
        return replace(
            ended,
            expected=printable(with_codes(ended.expected)),
            actual=printable(with_codes(ended.actual)),
            because=printable(with_codes(ended.because)),
            lines=tuple(transcript.lines),
            folds=tuple(transcript.folds),
            names=dict(transcript.names),
            roles=dict(transcript.roles),
            generation=transcript.generation,
            versions=dict(dialogue.versions),
            late=ended.late or (ended.ending in DOUBTFUL and dialogue.waits.were_slow),
        )

    def _play(self, group_id: str, unreadable: Unreadable) -> None:
        def opened() -> tuple[tuple[str, int], dict[str, int]]:
            address, patience = self._running.address, self._patience
            return open_with(self._script, address, group_id, unreadable, patience, self._stop, self._way)

        operator = restarts_of(self._script, self._running, opened, self._stop)
        address, versions = opened() if operator is None else operator.found()
        self._dialogue = Dialogue(
            address, group_id, versions, self._initial_delay, self._patience, self._stop, self._way
        )
        self._dialogue.operator, self._dialogue.habits = operator, self._habits
        self._dialogue.cold = not self._hurried
        if self._way is not USUAL:
            self._dialogue.remark(f"played {self._way.name}, since what is needed was not reached otherwise")
        self._script.play(self._dialogue)

    def _ended(self, play: Callable[[], None]) -> DialogueResult:
        try:
            play()
        except Deviation as deviation:
            return self._unless_dead(_deviated(deviation.expected, deviation.actual, deviation.late))
        except Garbage as garbage:
            wanted = "a well-formed answer to what was asked"
            return self._unless_dead(
                DialogueResult(ending=Ending.MALFORMED, expected=wanted, actual=str(garbage))
            )
        except Closed as closed:
            broken = _deviated("an answer", f"the target closed the connection ({closed})")
            return self._unless_dead(broken, grace=1.5)
        except SetupFailed as failed:
            broken = _deviated(failed.expected, failed.actual, failed.late)
            why, rule = str(failed), failed.rule
            return self._unless_dead(
                replace(broken, ending=Ending.SETUP_FAILED, because=why, prerequisite=rule)
            )
        except Unsupported as unsupported:
            return DialogueResult(ending=Ending.UNSUPPORTED, because=str(unsupported))
        except Late as late:
            slow = DialogueResult(ending=Ending.UNDECIDED, because=str(late), late=True)
            return self._unless_dead(replace(slow, prerequisite=late.rule))
        except (Undecidable, NotListening) as unknown:
            return self._unless_dead(DialogueResult(ending=Ending.UNDECIDED, because=str(unknown)))
        except Interrupted:
            raise
        except Exception as error:
            return self._unless_dead(DialogueResult(ending=Ending.UNDECIDED, because=fault_of_ours(error)))
        return self._unless_dead(DialogueResult(ending=Ending.FINISHED), grace=0.0)

    def _unless_dead(self, otherwise: DialogueResult, grace: float = 0.2) -> DialogueResult:
        """The ending `died` if the target is no more, else the one given."""
        obituary = self._running.post_mortem(grace)
        return otherwise if obituary is None else died(otherwise, obituary)


def _deviated(expected: str, actual: str, late: bool = False) -> DialogueResult:
    return DialogueResult(ending=Ending.DEVIATED, expected=expected, actual=actual, late=late)
