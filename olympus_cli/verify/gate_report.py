"""The results of `olympus verify`, as the report of a gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from olympus.files import to_data
from olympus_cli.gate_reports.failures import failure_data
from olympus_cli.gate_reports.gate_report import Case, GateReport, Table, Word, place_in
from olympus_cli.gate_reports.target_runs import TargetRuns
from olympus_cli.verify.records import FindingRecord, JudgedCheck, VerifiedTarget
from olympus_cli.verify.show import (
    COLUMNS,
    finding_message,
    other_inputs_notes,
    result_message,
    rows,
    unchecked,
)

_FIGURES = ("ulps", "error", "mismatches", "size")


def verified_report(
    documents: Sequence[VerifiedTarget],
    target_runs: TargetRuns,
    tables: Sequence[Table],
    with_seed: bool,
    failures_only: bool,
) -> GateReport:
    """Return the report on verified targets; `with_seed` if there are several seeds.

    With `failures_only`, a note has the number of comparisons that passed.
    """
    cases = [case for document in documents for case in _cases(document, with_seed)]
    return GateReport(
        "verify",
        (*cases, *target_runs.cases),
        tuple(tables),
        {"targets": to_data(documents), "failed": failure_data(target_runs.failed)},
        notes=tuple(note for document in documents for note in _notes(document, failures_only)),
        seconds=target_runs.seconds,
    )


def verified_table(
    document: VerifiedTarget, with_seed: bool, failures_only: bool = False
) -> Table | None:
    """Return the table of one target on the inputs of one seed; None without a row.

    With `failures_only`, comparisons that passed have no row.
    """
    body = tuple(rows(document, failures_only))
    if not body:
        return None
    seed = f", seed {document.seed}" if with_seed else ""
    title = f"{document.target}  ({document.entry}, {document.backend}{seed})"
    return title, COLUMNS, body


def _cases(document: VerifiedTarget, with_seed: bool) -> list[Case]:
    """Return a case for each comparison, each wrong operation and each inconclusive one."""
    seed = f", seed {document.seed}" if with_seed else ""
    target = document.target
    cases = [_case(target, check, seed) for check in document.checks]
    words: tuple[tuple[Word, Sequence[FindingRecord]], ...] = (
        ("failed", document.operations),
        ("inconclusive", document.notes),
    )
    for verdict, findings in words:
        cases += [
            Case(
                target,
                "verify",
                f"operation {check.operation}{seed}",
                verdict,
                finding_message(check),
                _places(check),
                {name: getattr(check.element, name) for name in ("ulps", "error")}
                if check.element
                else {},
            )
            for check in findings
        ]
    return cases


def _case(target: str, check: JudgedCheck, seed: str) -> Case:
    finding = check.finding
    message = "" if check.passed else result_message(check)
    return Case(
        target,
        "verify",
        f"{check.result} against {check.against}{seed}",
        "failed" if not check.passed else "not judged" if check.infinite else "passed",
        "\n".join([message, finding_message(finding)]) if finding else message,
        _places(finding) if finding else (),
        {name: getattr(check, name) for name in _FIGURES},
    )


def _places(finding: FindingRecord) -> tuple[str, ...]:
    return place_in(Path(), finding.location or "")


def _notes(document: VerifiedTarget, failures_only: bool) -> list[str]:
    messages = [finding_message(finding) for finding in document.notes]
    if failures_only and document.judged:
        passed = sum(finding.passed for finding in document.checks)
        messages.append(f"{document.target}: {passed} of {len(document.checks)} comparisons passed")
    return messages + other_inputs_notes(document) + unchecked(document)
