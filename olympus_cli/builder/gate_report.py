"""The report of a build, in the form that every output format is rendered from.

A build with nothing to do imports this module, and nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from olympus_cli.builder.explanation import explanation_text
from olympus_cli.builder.lines import TargetOutcome, build_text
from olympus_cli.gate_reports.gate_report import Case, GateReport, case_of_error, remark


def build_report(
    outcomes: Sequence[TargetOutcome],
    build_dir: Path,
    root: Path,
    *,
    command: str = "build",
    explain: bool = False,
) -> GateReport:
    """Return the report of a build into folders of `build_dir`; `root` is the project's folder.

    With `explain`, its text has all reasons of each target.
    """
    render = explanation_text if explain else build_text
    folders = [(outcome, build_dir / outcome.target) for outcome in outcomes]
    warnings = [(outcome, text) for outcome in outcomes for text in outcome.warnings]
    return GateReport(
        command,
        tuple(map(_case, outcomes)),
        (),
        {
            "build_dir": str(build_dir),
            "targets": [_outcome_data(outcome, folder) for outcome, folder in folders],
        },
        warnings=tuple(remark(outcome.target, text, root) for outcome, text in warnings),
        text=render(folders),
        text_in=partial(render, folders),
    )


def _case(outcome: TargetOutcome) -> Case:
    if outcome.failure is not None:
        case = case_of_error(outcome.target, "build", outcome.failure.error())
    elif outcome.status == "stale":
        why = f"it would have to be built: {outcome.reason}"
        case = Case(outcome.target, "build", "run", "failed", why)
    elif outcome.status == "skipped":
        case = Case(outcome.target, "build", "run", "skipped", outcome.reason or "")
    else:
        case = Case(outcome.target, "build", "run", "passed")
    return replace(case, seconds=outcome.seconds, figures={"status": outcome.status})


def _outcome_data(outcome: TargetOutcome, directory: Path) -> dict[str, Any]:
    """Return one target as JSON-like data."""
    return {
        "target": outcome.target,
        "status": outcome.status,
        "reason": outcome.reason,
        "reasons": [vars(reason) for reason in outcome.reasons],
        "traced_because": [vars(reason) for reason in outcome.traced_because],
        "unchanged": outcome.unchanged,
        "seconds": outcome.seconds,
        "directory": str(directory),
        "warnings": list(outcome.warnings),
        "error": _error_data(outcome),
    }


def _error_data(outcome: TargetOutcome) -> Any:
    if outcome.failure is None:
        return None
    from olympus_cli.gate_reports.failures import failure_data  # imports the compiler

    return failure_data(outcome.failure)
