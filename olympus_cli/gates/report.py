"""What `olympus check` finds, as the report of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from olympus_cli.gates.budget import Verdict
from olympus_cli.gates.checking import Checked
from olympus_cli.gates.trials import Trials
from olympus_cli.reports.gates import Case, GateReport, place_in, remark

__all__ = ["HAS_RULES", "UNJUDGED", "broken_message", "checked_report"]

#: The rules that a target is judged by, and the reason if it has none.
HAS_RULES = "has a budget or is golden"
UNJUDGED = "it has no budget and is not golden"

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
    failed = [case.target for case in trials.cases if case.verdict == "not judged"]
    others = [target for target in unjudged if target not in failed]
    rows = (*map(_row, verdicts), *((each, "", "", "", "", "not judged") for each in failed))
    return GateReport(
        "check",
        (*(_case(each, roots[each.target]) for each in verdicts), *trials.cases),
        (("", COLUMNS, rows),) if rows else (),
        {
            "targets": [_data(each) for each in found],
            "not_judged": [{"target": each, "reason": UNJUDGED} for each in unjudged],
            "failed": trials.failed,
        },
        notes=(_unjudged_note(others),) if others else (),
        warnings=tuple(
            remark(each.target, text, roots[each.target])
            for each in found
            for text in each.warnings
        ),
        seconds=trials.seconds,
    )


def _unjudged_note(targets: Sequence[str]) -> str:
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


def _case(verdict: Verdict, root: Path) -> Case:
    gate, name = "budget", f"{verdict.key} on {verdict.backend}"
    if verdict.key == "golden":
        gate, name = "golden", f"program on {verdict.backend}"
    places = (place for line in verdict.lines for place in place_in(root, line.place))
    return Case(
        verdict.target,
        gate,
        name,
        "failed" if verdict.is_broken else "passed",
        "\n  ".join([verdict.why, *map(str, verdict.lines)]),
        tuple(dict.fromkeys(places)),
        {name: getattr(verdict, name) for name in ("figure", "limit", "value", "most")},
    )


def _row(verdict: Verdict) -> tuple[str, ...]:
    figures = verdict.figure, verdict.limit
    return verdict.target, verdict.backend, verdict.key, *figures, _word(verdict)


def _word(verdict: Verdict) -> str:
    return "broken" if verdict.is_broken else "kept"


def _data(checked: Checked) -> dict[str, Any]:
    """What became of a target, as JSON-like data."""
    return {
        "target": checked.target,
        "verdicts": [{**asdict(each), "verdict": _word(each)} for each in checked.verdicts],
        "figures": checked.figures,
        "warnings": list(checked.warnings),
    }
