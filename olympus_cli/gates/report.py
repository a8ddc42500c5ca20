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

__all__ = ["broken_message", "checked_report"]

COLUMNS = ("target", "backend", "budget", "figure", "limit", "verdict")


def checked_report(
    found: Sequence[Checked], trials: Trials, roots: Mapping[str, Path]
) -> GateReport:
    """The report; `roots` are the folders that the places of each target are told from."""
    verdicts = [verdict for each in found for verdict in each.verdicts]
    return GateReport(
        "check",
        (*(_case(each, roots[each.target]) for each in verdicts), *trials.cases),
        (("", COLUMNS, tuple(map(_row, verdicts))),) if verdicts else (),
        {"targets": [_data(each) for each in found], "failed": trials.failed},
        warnings=tuple(
            remark(each.target, text, roots[each.target])
            for each in found
            for text in each.warnings
        ),
        seconds=trials.seconds,
    )


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
