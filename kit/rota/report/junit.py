"""JUnit XML, as CI servers read it: a suite for each part of the protocol, a test case for each case."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence

from rota.conformance.dialogues.registry import PARTS
from rota.conformance.results import CaseResult, NotChecked, Verdict
from rota.report.causes import Cause
from rota.report.events import Collected, RunFinished, RunStarted
from rota.report.format import WIDTH
from rota.report.text import in_full, verdict_line

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-�\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot carry; a target may send any of them."""

_ELEMENT = {Verdict.FAIL: "failure", Verdict.DIED: "failure", Verdict.UNDECIDED: "error"}
_SKIPPED = (Verdict.UNSUPPORTED, Verdict.SKIPPED, Verdict.KNOWN)


class JUnitReport(Collected):
    """Gives the finished document, as text, to `write`.

    `fail` and `died` are failures, `undecided` is an error, `unsupported`, `skipped`, `known` and cases that
    were not played are skipped; `lenient` and `noted` pass, with what was seen in their output. A known
    failure that passes says so in its output; if the run is strict it is a failure. Each suite has as
    properties the verdict, the questions that were reached, and the causes of the failures in it.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def finish(self, started: RunStarted, finished: RunFinished) -> None:
        says = {
            "verdict": verdict_line(started, finished, self.results),
            "questions reached": finished.reached.words,
        }
        causes = {case: cause for cause in finished.causes for case in cause.cases}
        root = ET.Element("testsuites", name=f"rota conform {in_xml(started.target)}")
        played = {result.case.part for result in self.results}
        for part in sorted(played | {skip.case.part for skip in finished.not_checked}, key=PARTS.index):
            results = [result for result in self.results if result.case.part == part]
            skipped = [skip for skip in finished.not_checked if skip.case.part == part]
            root.append(_suite(part, results, skipped, started, says, causes))
        ET.indent(root)
        self._write(ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n")


def _suite(
    part: str,
    results: Sequence[CaseResult],
    skipped: Sequence[NotChecked],
    started: RunStarted,
    says: Mapping[str, str],
    causes: Mapping[str, Cause],
) -> ET.Element:
    """The suite of one part. says: of the whole run, by name; causes: id of a case -> its cause."""
    kinds = [_element(result, started) for result in results]
    suite = ET.Element(
        "testsuite",
        name=part,
        tests=str(len(results) + len(skipped)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(sum(result.verdict in _SKIPPED for result in results) + len(skipped)),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in says.items():
        ET.SubElement(properties, "property", name=name, value=in_xml(value))
    here = dict.fromkeys(causes[one.case.id] for one in results if one.case.id in causes)
    for cause in here:
        told = f"{cause.rule}: {cause.headline}; look at {cause.first}"
        ET.SubElement(properties, "property", name="cause", value=in_xml(told))
    for result in results:
        suite.append(_test(result, started, causes.get(result.case.id)))
    for not_played in skipped:
        case = not_played.case
        test = ET.SubElement(suite, "testcase", classname=f"rota.conform.{part}", name=case.id, time="0")
        ET.SubElement(test, "skipped", message=in_xml(f"not checked: {not_played.why}"))
    return suite


def _test(result: CaseResult, started: RunStarted, cause: Cause | None) -> ET.Element:
    case = result.case
    test = ET.Element(
        "testcase", classname=f"rota.conform.{case.part}", name=case.id, time=f"{result.seconds:.3f}"
    )
    text = in_xml("\n".join(in_full(result, started, WIDTH)))
    seen = result.because or f"expected {result.expected}, got {result.actual}"
    if result.verdict is Verdict.KNOWN and result.known is not None:
        seen = f"{result.known.words}: {seen}"
    if cause is not None and cause.first != case.id:
        seen = f"{seen} (follows from {cause.rule}; look at {cause.first})"
    why = in_xml(f"{result.verdict.value}: {seen}")
    if result.unexpected_pass:
        why = in_xml(f"passes, though known to fail: {result.known.words if result.known else ''}")
    if element := _element(result, started):
        kind = "unexpected pass" if result.unexpected_pass else result.verdict.value
        ET.SubElement(test, element, message=why, type=kind).text = text
    elif result.unexpected_pass:
        ET.SubElement(test, "system-out").text = why
    elif result.verdict in _SKIPPED:
        ET.SubElement(test, "skipped", message=why)
    elif result.verdict is not Verdict.PASS:
        ET.SubElement(test, "system-out").text = text
    return test


def _element(result: CaseResult, started: RunStarted) -> str:
    """What a case that does not pass is in JUnit's words; empty for one that does, or is skipped."""
    if result.unexpected_pass and started.strict:
        return "failure"
    return _ELEMENT.get(result.verdict, "")


def in_xml(text: str) -> str:
    """A text with what XML cannot carry escaped."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
