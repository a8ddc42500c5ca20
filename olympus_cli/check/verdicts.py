"""What `olympus check` finds, as the report of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from olympus_cli.check.budget import Verdict
from olympus_cli.check.check import Checked
from olympus_cli.gate_reports.model import Case, GateReport, Word, place_in, remark
from olympus_cli.gate_reports.trials import Trials

__all__ = [
    "HAS_RULES",
    "NO_DONATION",
    "UNJUDGED",
    "broken_message",
    "checked_report",
    "unjudged_note",
]

#: The rules that a target is judged by, and the reason if it has none.
HAS_RULES = "has a budget or is golden"
UNJUDGED = "it has no budget and is not golden"

#: The reason why a target whose only rule is `donation` of `[budget]` is not judged.
NO_DONATION = "it donates no array, and its only rule is donation of [budget]"

_MOST = 10  # targets that a note names

COLUMNS = ("target", "backend", "budget", "figure", "limit", "verdict")


def checked_report(
    found: Sequence[Checked],
    trials: Trials,
    roots: Mapping[str, Path],
    unjudged: Sequence[str] = (),
) -> GateReport:
    """The report; `roots` are the folders that the places of each target are told from.

    `unjudged` are the targets without a budget and a golden program.  Those that are among the
    cases of `trials` have a row, and a note names the others.
    """
    verdicts = [verdict for each in found for verdict in each.verdicts]
    shown = {verdict.target for verdict in verdicts}
    failed = [case.target for case in trials.cases if case.verdict == "not judged"]
    others = [target for target in unjudged if target not in failed]
    failed = [target for target in failed if target not in shown]
    reasons = [(each, UNJUDGED) for each in unjudged]
    reasons += [(each.target, NO_DONATION) for each in found if not each.is_judged]
    rows = (*map(_row, verdicts), *((each, "", "", "", "", "not judged") for each in failed))
    return GateReport(
        "check",
        (*(_case(each, roots[each.target]) for each in verdicts), *trials.cases),
        (("", COLUMNS, rows),) if rows else (),
        {
            "targets": [_data(each) for each in found],
            "not_judged": [{"target": each, "reason": reason} for each, reason in reasons],
            "failed": trials.failed,
        },
        notes=(unjudged_note(others),) if others else (),
        warnings=tuple(
            remark(each.target, text, roots[each.target])
            for each in found
            for text in each.warnings
        ),
        seconds=trials.seconds,
    )


def unjudged_note(targets: Sequence[str]) -> str:
    """The note that names the first `_MOST` of targets that are not judged."""
    named = ", ".join(targets[:_MOST])
    more = f" and {len(targets) - _MOST} more" if len(targets) > _MOST else ""
    return f"not judged, as they have no budget and are not golden: {named}{more}"


def broken_message(checked: Checked) -> str:
    """What is wrong with a target, with the lines that contribute most; empty if nothing is."""
    return "\n".join(_told(checked.broken))


def _told(broken: Sequence[Verdict]) -> Iterator[str]:
    for verdict in broken:
        yield f"target {verdict.target!r} on {verdict.backend}: {verdict.why}"
        yield from (f"  {line}" for line in verdict.lines)


#: The verdict of the case that a verdict is; a rule that does not judge a target is left out.
_CASES: Mapping[str, Word] = {"broken": "failed", "kept": "passed", "not judged": "skipped"}


def _case(verdict: Verdict, root: Path) -> Case:
    gate, name = "budget", f"{verdict.key} on {verdict.backend}"
    if verdict.key == "golden":
        gate, name = "golden", f"program on {verdict.backend}"
    why = verdict.why if verdict.is_judged else f"{verdict.key} is not judged: {verdict.figure}"
    places = (place for line in verdict.lines for place in place_in(root, line.place))
    return Case(
        verdict.target,
        gate,
        name,
        _CASES[verdict.word],
        "\n  ".join([why, *map(str, verdict.lines)]),
        tuple(dict.fromkeys(places)),
        {name: getattr(verdict, name) for name in ("figure", "limit", "value", "most")},
    )


def _row(verdict: Verdict) -> tuple[str, ...]:
    figures = verdict.figure, verdict.limit
    return verdict.target, verdict.backend, verdict.key, *figures, verdict.word


def _data(checked: Checked) -> dict[str, Any]:
    """What became of a target, as JSON-like data."""
    return {
        "target": checked.target,
        "verdicts": [_verdict_data(each) for each in checked.verdicts],
        "figures": checked.figures,
        "warnings": list(checked.warnings),
    }


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    data = {**asdict(verdict), "verdict": verdict.word}
    del data["is_judged"]
    return data
