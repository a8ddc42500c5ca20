"""The records of `olympus verify`: the worker returns them, and the JSON document contains them.

They are those of `olympus.verification`, with numbers that JSON can represent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from olympus.files import Number, number
from olympus.verification import Draw, Element, Finding, ResultCheck, Statistics


@dataclass(frozen=True)
class StatisticsRecord:
    """The statistics of an array's finite elements; all are None if no element is finite."""

    type: str
    minimum: Number | None
    maximum: Number | None
    mean: Number | None
    nans: int
    infinities: int
    subnormals: int

    @staticmethod
    def of(statistics: Statistics) -> StatisticsRecord:
        """Return the record of statistics."""
        return StatisticsRecord(
            statistics.type,
            _number(statistics.minimum),
            _number(statistics.maximum),
            _number(statistics.mean),
            statistics.nans,
            statistics.infinities,
            statistics.subnormals,
        )


@dataclass(frozen=True)
class ElementRecord:
    """The worst element of a result: its index, its value, and the distance to the expected one."""

    place: tuple[int, ...]
    got: Number
    expected: Number
    error: Number
    allowed: Number
    ulps: Number | None

    @staticmethod
    def of(element: Element | None) -> ElementRecord | None:
        """Return the record of an element; None without one."""
        if element is None:
            return None
        return ElementRecord(
            element.place,
            number(element.got),
            number(element.expected),
            number(element.error),
            number(element.allowed),
            _number(element.ulps),
        )


@dataclass(frozen=True)
class FindingRecord:
    """A fault of an operation, or of its operands."""

    kind: str
    operation: str
    location: str | None
    text: str
    scope: str
    path: tuple[str, ...]
    operands: tuple[StatisticsRecord, ...]
    result: StatisticsRecord
    element: ElementRecord | None

    @staticmethod
    def of(finding: Finding) -> FindingRecord:
        """Return the record of a finding."""
        return FindingRecord(
            finding.kind,
            finding.operation,
            finding.location,
            finding.text,
            finding.scope,
            finding.path,
            tuple(map(StatisticsRecord.of, finding.operands)),
            StatisticsRecord.of(finding.result),
            ElementRecord.of(finding.element),
        )


@dataclass(frozen=True)
class CheckRecord:
    """A result compared with a reference; `why` is the reason of a failure, or None."""

    result: str
    against: str
    passed: bool
    why: str | None
    size: int
    mismatches: int
    ulps: Number | None
    error: Number
    element: ElementRecord | None
    statistics: StatisticsRecord
    finding: FindingRecord | None

    @staticmethod
    def of(check: ResultCheck) -> CheckRecord:
        """Return the record of a comparison."""
        comparison = check.comparison
        return CheckRecord(
            check.result,
            check.against,
            check.why is None,
            check.why,
            comparison.size,
            comparison.mismatches,
            _number(comparison.ulps),
            number(comparison.error),
            ElementRecord.of(comparison.element),
            StatisticsRecord.of(check.statistics),
            check.finding and FindingRecord.of(check.finding),
        )


@dataclass(frozen=True)
class JudgedCheck(CheckRecord):
    """A comparison; `infinite` is True if no element is finite and infinities are not allowed."""

    infinite: bool


@dataclass(frozen=True)
class DrawnArgument:
    """An argument with drawn values on which an operation with the first NaN depends."""

    name: str
    dtype: str
    statistics: StatisticsRecord


@dataclass(frozen=True)
class OtherInputsRecord:
    """The runs on other inputs, and the reason if there are none, as `skipped`."""

    draws: tuple[Draw, ...]
    notes: tuple[CheckRecord, ...]
    skipped: str | None


@dataclass(frozen=True)
class VerifiedTarget:
    """The verification of one target on the inputs of one seed."""

    target: str
    entry: str
    backend: str
    seed: int
    passed: bool
    judged: bool
    checks: tuple[JudgedCheck, ...]
    operations: tuple[FindingRecord, ...]
    notes: tuple[FindingRecord, ...]
    checked: int
    unchecked: Mapping[str, int]
    drawn: tuple[DrawnArgument, ...]
    other_inputs: OtherInputsRecord | None


def _number(value: float | None) -> Number | None:
    return None if value is None else number(value)
