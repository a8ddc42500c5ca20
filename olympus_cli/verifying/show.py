"""What verification finds, as rows of a table and as messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["COLUMNS", "finding_message", "message", "result_message", "rows", "unchecked"]

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
_MOST = 3  # findings that a message has


def rows(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """A row for each comparison."""
    return [
        (
            each["result"],
            each["against"],
            "-" if each["ulps"] is None else _number(each["ulps"]),
            _number(each["error"]),
            f"{each['mismatches']} of {each['size']}",
            "ok" if each["passed"] else each["why"],
        )
        for each in document["checks"]
    ]


def unchecked(document: Mapping[str, Any]) -> list[str]:
    """What there is to say of operations that only their rounding was checked of."""
    if not document["unchecked"]:
        return []
    listed = ", ".join(sorted(document["unchecked"]))
    return [f"no independent reference for {listed}: their rounding alone was checked"]


def message(document: Mapping[str, Any]) -> str:
    """What is wrong, in one message: the results, and the operations that they come from."""
    lines = []
    failed = [each for each in document["checks"] if not each["passed"]]
    for each in failed[:_MOST]:
        lines.append(result_message(each))
    lines += _more(failed, "results are wrong")
    findings = list(document["operations"])
    for each in failed:
        if each["finding"] and each["finding"] not in findings:
            findings.append(each["finding"])
    for each in findings[:_MOST]:
        lines += _told(each)
    lines += _more(findings, "operations are wrong")
    return f"{document['target']} is not verified (seed {document['seed']}):\n  " + "\n  ".join(
        lines
    )


def result_message(check: Mapping[str, Any]) -> str:
    """What is wrong with a result, in a line."""
    return f"{check['result']} {check['why']}{_element(check['element'])}"


def finding_message(finding: Mapping[str, Any]) -> str:
    """A finding: what it is, where it stands, and the numbers."""
    return "\n".join(_told(finding))


def _more(found: Sequence[Any], what: str) -> list[str]:
    return [f"and {len(found) - _MOST} more {what}"] if len(found) > _MOST else []


def _told(each: Mapping[str, Any]) -> list[str]:
    lines = [_KINDS[each["kind"]].format(name=each["operation"])]
    if each["location"]:
        lines.append(f"  at {each['location']}: {each['text']}")
    if each["path"]:
        lines.append(f"  inside {' > '.join(each['path'])}")
    for i, statistics in enumerate(each["operands"]):
        lines.append(f"  operand {i}: {_statistics(statistics)}")
    lines.append(f"  result: {_statistics(each['result'])}{_element(each['element'])}")
    return lines


def _element(element: Mapping[str, Any] | None) -> str:
    if element is None:
        return ""
    place = ", ".join(map(str, element["place"]))
    where = f"element [{place}]" if element["place"] else "it"
    got, expected = _number(element["got"]), _number(element["expected"])
    if element["error"] in ("inf", "nan"):  # of an infinity or a NaN
        return f"; {where} is {got}, and {expected} is expected"
    bound = "" if element["allowed"] == "inf" else f", {_number(element['allowed'])} is allowed"
    steps = "" if element["ulps"] is None else f"{_number(element['ulps'])} ulps, "
    off = f"off by {steps}{_number(element['error'])}"
    return f"; {where} is {got}, and {expected} is expected: {off}{bound}"


def _statistics(each: dict[str, Any]) -> str:
    parts = [each["type"]]
    if each["mean"] is not None:
        parts += [f"{name[:3]} {_number(each[name])}" for name in ("minimum", "maximum")]
        parts.append(f"mean {_number(each['mean'])}")
    for name, one in (("nans", "NaN"), ("infinities", "infinity"), ("subnormals", "subnormal")):
        if count := each[name]:
            many = {"nans": "NaNs"}.get(name, name)
            parts.append(f"{count} {one if count == 1 else many}")
    return ", ".join(parts)


def _number(x: Any) -> str:
    if isinstance(x, bool) or not isinstance(x, float):
        return str(x)
    return f"{x:.9g}" if abs(x) < 1e16 and x == x else f"{x:.4g}"
