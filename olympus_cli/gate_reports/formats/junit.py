"""A gate's report as JUnit XML, for most CI systems: a suite per target, a test case per case.

The elements and attributes are those of the schema that Jenkins checks against, `junit-10.xsd` of
its xunit plugin, so that other readers know all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from olympus_cli.gate_reports.gate_report import Case, GateReport, Word
from olympus_cli.text.escaping import visible
from olympus_cli.text.paths import display_place

#: The element for a verdict; a case with another verdict has none.
_ELEMENTS: dict[Word, str] = {
    "failed": "failure",
    "error": "error",
    "not judged": "error",
    "inconclusive": "skipped",
    "skipped": "skipped",
}
# Characters that `visible` leaves and XML 1.0 (section 2.2, Char) does not have.
_NO_CHARACTER = re.compile("[\ufffe\uffff]")


def render_junit(report: GateReport) -> str:
    """Return the XML, in ASCII: other characters are written as references to them."""
    cases: dict[str, list[Case]] = {}
    for case in report.cases:
        cases.setdefault(case.target, []).append(case)
    root = Element("testsuites", {"name": f"olympus {report.command}"} | _counts(report.cases))
    for target, group in cases.items():
        suite = SubElement(root, "testsuite", {"name": _text(target)} | _counts(group))
        suite.set("skipped", str(sum(_ELEMENTS.get(case.verdict) == "skipped" for case in group)))
        seconds = [case.seconds for case in group if case.seconds is not None]
        if target in report.seconds or seconds:
            suite.set("time", f"{report.seconds.get(target, sum(seconds)):.3f}")
        for case in group:
            _add(suite, case)
    indent(root)
    text: str = tostring(root, encoding="us-ascii", xml_declaration=True).decode("ascii")
    return text + "\n"


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    elements = [_ELEMENTS.get(case.verdict) for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
    }


def _add(suite: Element, case: Case) -> None:
    name = {"classname": _text(case.target), "name": _text(f"{case.gate} {case.name}")}
    element = SubElement(suite, "testcase", name)
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    if kind := _ELEMENTS.get(case.verdict):
        first = case.message.partition("\n")[0]
        problem = SubElement(element, kind, {"message": _text(first), "type": _text(case.gate)})
        problem.text = _text("\n".join([case.message, *map(display_place, case.places)]))
    if case.figures:
        SubElement(element, "system-out").text = _text(json.dumps(dict(case.figures)))


def _text(text: str) -> str:
    """Return the text, with escapes for the characters that XML does not have."""
    return _NO_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", visible(text))
