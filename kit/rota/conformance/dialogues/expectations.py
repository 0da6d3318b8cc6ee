"""What is wanted of an answer, in words, and how what came differs from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.conformance.dialogues.failures import Deviation
from rota.conformance.dialogues.prerequisites import rule_behind, rule_of_field
from rota.conformance.dialogues.transcript import Transcript


@dataclass(frozen=True)
class Wanted:
    """Fields that the answer to a request should have; `error` stands for the error's name.

    `rule` is the slug of the rule that is broken otherwise, where the answer does not tell that itself.
    """

    api: str
    fields: Mapping[str, Any]
    transcript: Transcript
    rule: str

    def missing(self, silence: str, late: bool = False) -> Deviation:
        """There is no answer, or none in time. late: it came afterwards, and was as it should be."""
        return Deviation(self._expected, silence, rule_behind(self.api, self._error, None, self.rule), late)

    def differs(self, actual: Mapping[str, Any], body: Mapping[str, Any]) -> Deviation:
        """These fields of the answer are not as they should be, or others; body: the whole of it."""
        if actual.get("error") != self.fields.get("error"):
            broken = rule_behind(self.api, self._error, actual["error"], self.rule)
            return Deviation(self._expected, self.transcript.answer(self.api, body), broken)
        first = next(name for name, value in self.fields.items() if actual[name] != value)
        return Deviation(self._expected, self._in_words(actual), rule_of_field(first) or self.rule)

    @property
    def _error(self) -> str:
        return str(self.fields.get("error", "NONE"))

    @property
    def _expected(self) -> str:
        return f"{self.api} answered with {self._in_words(self.fields)}"

    def _in_words(self, fields: Mapping[str, Any]) -> str:
        return ", ".join(
            f"{name.replace('_id', ' id').replace('_', ' ')} {self._value(name, value)}"
            for name, value in fields.items()
        )

    def _value(self, name: str, value: Any) -> Any:
        if name in ("member_id", "leader"):
            return self.transcript.named(value)
        told = name == "error_code" or isinstance(value, list | dict)
        return self.transcript.value(name, value) if told else value
