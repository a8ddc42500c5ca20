"""The results of verification, as rows of a table and as messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_cli.spec.toml import toml_key
from olympus_cli.verify.records import (
    CheckRecord,
    ElementRecord,
    FindingRecord,
    JudgedCheck,
    StatisticsRecord,
    VerifiedTarget,
)

COLUMNS = ("result", "against", "ulps", "error", "differ", "verdict")

_KINDS = {
    "wrong": "'{name}' is wrong by itself: its result is not what the operation means",
    "compiled": "'{name}' is the first operation that is wrong in the compiled program; alone it "
    "is right",
    "nan": "'{name}' made the first NaN",
    "infinity": "'{name}' made the first infinity",
    "overflow": "'{name}' overflowed the dtype of its result",
    "cancellation": "'{name}' lost the digits by cancellation: it subtracts nearly equal numbers",
    "inaccurate": "'{name}' lost the digits to rounding",
    "sensitive": "'{name}' decides by a difference that is no more than rounding: it is right, and "
    "what follows cannot be compared",
}
#: The messages on an operation that reverses an exponential, by the name of the operation.
_REVERSED = {
    "div": "'div' divides two exponentials that are both infinite or both 0 in their dtype: "
    "subtract the same number, such as the maximum, from the arguments of both",
    "mul": "'mul' multiplies an exponential that is infinite in its dtype by one that is 0: add "
    "their arguments, and compute one exponential",
    "log": "'log' takes the logarithm of an exponential that left the range of its dtype: compute "
    "the logarithm directly, for example with logsumexp, log_softmax or log_sigmoid",
    "log1p": "'log1p' takes the logarithm of an exponential that is infinite in its dtype: compute "
    "the logarithm directly, for example with logaddexp or softplus",
}
_MAX = 3  # findings in a message


def rows(document: VerifiedTarget, failures_only: bool = False) -> list[tuple[str, ...]]:
    """Return a row for each comparison, or each failed one; one row if nothing was judged."""
    if not document.checks:
        return [("(none)", *"---", "0 of 0", f"not judged: {not_judged(document)}")]
    checks: Sequence[JudgedCheck] = document.checks
    if failures_only and document.judged:
        checks = [check for check in checks if not check.passed]
    return [
        (
            check.result,
            check.against,
            "-" if check.ulps is None else _number(check.ulps),
            _number(check.error),
            f"{check.mismatches} of {check.size}",
            _verdict(check),
        )
        for check in checks
    ]


def _verdict(check: JudgedCheck) -> str:
    if not check.passed:
        return str(check.why)
    if check.infinite:
        return "not judged: no element is finite"
    return "ok" if check.size else "not judged: it has no elements"


def not_judged(document: VerifiedTarget) -> str | None:
    """Return the reason why nothing of a target was judged; None if something was."""
    if document.judged:
        return None
    if not document.checks:
        return "the program returns no results"
    if infinite := [check.result for check in document.checks if check.infinite]:
        return f"no element of {infinite[0]} is finite"
    return "the results of the program have no elements"


def not_judged_hint(document: VerifiedTarget) -> str:
    """Return the hint for a target that is not judged."""
    if any(check.infinite for check in document.checks):
        return 'give smaller inputs, or write tolerance.allow = ["inf"] if infinity is right'
    return "return what is to be verified from the function"


def unchecked(document: VerifiedTarget) -> list[str]:
    """Return notes on operations of which only the rounding was checked."""
    if not document.unchecked:
        return []
    listed = ", ".join(sorted(document.unchecked))
    return [f"no independent reference for {listed}: their rounding alone was checked"]


def other_inputs_notes(document: VerifiedTarget) -> list[str]:
    """Return notes on the runs on other inputs: why there were none, or results out of range."""
    other_inputs = document.other_inputs
    if other_inputs is None:
        return []
    notes = [f"{document.target} is not run on other inputs: {other_inputs.skipped}"]
    return notes[: other_inputs.skipped is not None] + [
        f"{document.target}: {note.result} {note.why}{_cause(note.finding)}"
        for note in other_inputs.notes
    ]


def _cause(finding: FindingRecord | None) -> str:
    if finding is None:
        return ""
    place = f", at {finding.location}" if finding.location else ""
    return f": {_fault(finding)}{place}"


def _fault(finding: FindingRecord) -> str:
    """Return the fault of an operation, with a remedy if the operation determines one."""
    if finding.kind == "exponential":
        return _REVERSED[finding.operation]
    return _KINDS[finding.kind].format(name=finding.operation)


def failure_message(document: VerifiedTarget) -> str:
    """Return one message on the errors: the results, and the operations that cause them."""
    if reason := not_judged(document):
        return f"{document.target} is not judged: {reason}"
    lines = []
    failed = [check for check in document.checks if not check.passed]
    for check in failed[:_MAX]:
        lines.append(result_message(check))
    lines += _more(failed, "results are wrong")
    findings = list(document.operations)
    for check in failed:
        if check.finding and check.finding not in findings:
            findings.append(check.finding)
    for finding in findings[:_MAX]:
        lines += _finding_lines(finding)
    lines += _more(findings, "operations are wrong")
    lines += _remedy(document)
    return f"{document.target} is not verified (seed {document.seed}):\n  " + "\n  ".join(lines)


def _remedy(document: VerifiedTarget) -> list[str]:
    """Return lines on the drawn arguments that cause NaN, and the input to write for them."""
    drawn = document.drawn
    if not drawn:
        return []
    lines = [
        f"it depends on {argument.name}, whose values are drawn: {_statistics(argument.statistics)}"
        for argument in drawn[:_MAX]
    ] + _more(drawn, "arguments have drawn values")
    name = document.target.partition("@")[0]
    lines.append(f"if {drawn[0].name} never has such values, describe it in olympus.toml:")
    lines.append(f"  [target.{name}.inputs]")
    for argument in drawn[:_MAX]:
        lines.append(f"  {toml_key(argument.name)} = {_form(argument.dtype)}")
    lines.append('or { file = "x.npy" }, or { from = "module:function" } in place of the range')
    return lines


def _form(dtype: str) -> str:
    """Return an example of the input of an argument, as in olympus.toml."""
    if dtype == "bool":
        return '{ file = "x.npy" }'
    return "{ range = [1, 8] }" if "int" in dtype else "{ range = [0.1, 1] }"


def result_message(check: CheckRecord) -> str:
    """Return the error of a result, as one line."""
    return f"{check.result} {check.why}{_element(check.element)}"


def finding_message(finding: FindingRecord) -> str:
    """Return a finding as text: its kind, its place, and the numbers."""
    return "\n".join(_finding_lines(finding))


def _more(findings: Sequence[Any], what: str) -> list[str]:
    return [f"and {len(findings) - _MAX} more {what}"] if len(findings) > _MAX else []


def _finding_lines(finding: FindingRecord) -> list[str]:
    lines = [_fault(finding)]
    if finding.location:
        lines.append(f"  at {finding.location}: {finding.text}")
    if finding.path:
        lines.append(f"  inside {' > '.join(finding.path)}")
    for i, statistics in enumerate(finding.operands):
        lines.append(f"  operand {i}: {_statistics(statistics)}")
    lines.append(f"  result: {_statistics(finding.result)}{_element(finding.element)}")
    return lines


def _element(element: ElementRecord | None) -> str:
    if element is None:
        return ""
    place = ", ".join(map(str, element.place))
    where = f"element [{place}]" if element.place else "it"
    got, expected = _number(element.got), _number(element.expected)
    if str(element.error) in ("inf", "nan"):  # an infinity or a NaN
        return f"; {where} is {got}, and {expected} is expected"
    bound = "" if str(element.allowed) == "inf" else f", {_number(element.allowed)} is allowed"
    steps = "" if element.ulps is None else f"{_number(element.ulps)} ulps, "
    off = f"off by {steps}{_number(element.error)}"
    return f"; {where} is {got}, and {expected} is expected: {off}{bound}"


def _statistics(statistics: StatisticsRecord) -> str:
    parts = [statistics.type]
    if statistics.mean is not None:
        parts += [
            f"{name[:3]} {_number(getattr(statistics, name))}" for name in ("minimum", "maximum")
        ]
        parts.append(f"mean {_number(statistics.mean)}")
    for name, one in (("nans", "NaN"), ("infinities", "infinity"), ("subnormals", "subnormal")):
        if count := getattr(statistics, name):
            many = {"nans": "NaNs"}.get(name, name)
            parts.append(f"{count} {one if count == 1 else many}")
    return ", ".join(parts)


def _number(x: Any) -> str:
    if isinstance(x, bool) or not isinstance(x, float):
        return str(x)
    return f"{x:.9g}" if abs(x) < 1e16 and x == x else f"{x:.4g}"
