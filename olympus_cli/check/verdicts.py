"""The results of `olympus check`, as the report of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from olympus_cli.check.budget import Verdict
from olympus_cli.check.check import Checked
from olympus_cli.gate_reports.failures import failure_data
from olympus_cli.gate_reports.gate_report import Case, GateReport, Word, place_in, remark
from olympus_cli.gate_reports.target_runs import TargetRuns

#: The rules of a judged target, and the reason if it has none.
HAS_RULES = "has a budget or is golden"
UNJUDGED = "it has no budget and is not golden"

#: The reason for a target without a verdict whose only rule is `donation` of `[budget]`.
NO_DONATION = "it donates no array, and its only rule is donation of [budget]"

_MAX = 10  # targets in a note

COLUMNS = ("target", "backend", "budget", "figure", "limit", "verdict")


def checked_report(
    results: Sequence[Checked],
    target_runs: TargetRuns,
    roots: Mapping[str, Path],
    unjudged: Sequence[str] = (),
) -> GateReport:
    """Return the report; the places of a target are relative to its folder in `roots`.

    `unjudged` are the targets without a budget and a golden program. The ones among the cases of
    `target_runs` have a row, and a note names the others.
    """
    verdicts = [verdict for checked in results for verdict in checked.verdicts]
    shown = {verdict.target for verdict in verdicts}
    failed = [case.target for case in target_runs.cases if case.verdict == "not judged"]
    others = [target for target in unjudged if target not in failed]
    failed = [target for target in failed if target not in shown]
    reasons = [(target, UNJUDGED) for target in unjudged]
    reasons += [(checked.target, NO_DONATION) for checked in results if not checked.is_judged]
    rows = (*map(_row, verdicts), *((target, "", "", "", "", "not judged") for target in failed))
    return GateReport(
        "check",
        (*(_case(verdict, roots[verdict.target]) for verdict in verdicts), *target_runs.cases),
        (("", COLUMNS, rows),) if rows else (),
        {
            "targets": [_data(checked) for checked in results],
            "not_judged": [{"target": target, "reason": reason} for target, reason in reasons],
            "failed": failure_data(target_runs.failed),
        },
        notes=(unjudged_note(others),) if others else (),
        warnings=tuple(
            remark(checked.target, text, roots[checked.target])
            for checked in results
            for text in checked.warnings
        ),
        seconds=target_runs.seconds,
    )


def unjudged_note(targets: Sequence[str]) -> str:
    """Return the note that names the first `_MAX` of the targets that are not judged."""
    named = ", ".join(targets[:_MAX])
    more = f" and {len(targets) - _MAX} more" if len(targets) > _MAX else ""
    return f"not judged, as they have no budget and are not golden: {named}{more}"


def broken_message(checked: Checked) -> str:
    """Return the errors of a target, with the lines that contribute most; "" if there are none."""
    return "\n".join(_failure_lines(checked.failures))


def _failure_lines(failures: Sequence[Verdict]) -> Iterator[str]:
    for verdict in failures:
        yield f"target {verdict.target!r} on {verdict.backend}: {verdict.why}"
        yield from (f"  {line}" for line in verdict.lines)


def _word(verdict: Verdict) -> Word:
    """Return the verdict of the case; a rule that does not apply to a target is skipped."""
    if verdict.is_judged:
        return "failed" if verdict.fails else "passed"
    return "not judged" if verdict.fails else "skipped"


def _case(verdict: Verdict, root: Path) -> Case:
    gate, name = "budget", f"{verdict.key} on {verdict.backend}"
    if verdict.key == "golden":
        gate, name = "golden", f"program on {verdict.backend}"
    skipped = "" if verdict.is_judged else f"{verdict.key} is not judged: {verdict.figure}"
    places = (place for line in verdict.lines for place in place_in(root, line.place))
    return Case(
        verdict.target,
        gate,
        name,
        _word(verdict),
        "\n  ".join([verdict.why or skipped, *map(str, verdict.lines)]),
        tuple(dict.fromkeys(places)),
        {name: getattr(verdict, name) for name in ("figure", "limit", "value", "most")},
    )


def _row(verdict: Verdict) -> tuple[str, ...]:
    figures = verdict.figure, verdict.limit
    return verdict.target, verdict.backend, verdict.key, *figures, verdict.word


def _data(checked: Checked) -> dict[str, Any]:
    """Return the result for a target, as JSON-like data."""
    return {
        "target": checked.target,
        "verdicts": [_verdict_data(verdict) for verdict in checked.verdicts],
        "figures": checked.figures,
        "warnings": list(checked.warnings),
    }


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    data = {**asdict(verdict), "verdict": verdict.word}
    data["lines"] = [
        {"place": line.place, "told": line.text, "amount": line.amount} for line in verdict.lines
    ]
    del data["is_judged"]
    return data
