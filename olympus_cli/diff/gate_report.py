"""The gate report of `olympus diff`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from olympus.files import to_data
from olympus_cli.diff.comparison import ComparedChange, Comparison
from olympus_cli.diff.text import MOST, change_text, render_comparison
from olympus_cli.gate_reports.failures import failure_data
from olympus_cli.gate_reports.gate_report import Case, GateReport, place_in
from olympus_cli.gate_reports.target_runs import TargetRuns
from olympus_cli.reports.changes import short_name


def comparison_report(comparison: Comparison, root: Path | None) -> GateReport:
    """Return the report of a comparison; lines of the second side are relative to `root`.

    `root` is None if the second side has no files in the working tree, as for a revision or a
    bundle.  Then the cases have no places.
    """
    return GateReport(
        "diff",
        tuple(_cases(comparison, root)),
        (),
        comparison.to_data(),
        text=render_comparison(comparison),
    )


def revision_report(
    side: str,
    comparisons: Mapping[str, Comparison],
    added: Sequence[str],
    removed: Sequence[str],
    target_runs: TargetRuns,
    root: Path,
) -> GateReport:
    """Return the report of all targets compared with the revision `side`, "git:REV".

    `comparisons` are by target.  `added` are the targets that the revision does not
    have, and `removed` the targets that only the revision has.  Both are reported, but are not
    differences of a program.
    """
    reason = f"{side} does not have it"
    notes = [f"target {name!r} is new: {reason}" for name in added]
    notes += [f"target {name!r} of {side} does not exist any more" for name in removed]
    return GateReport(
        "diff",
        (
            *(case for comparison in comparisons.values() for case in _cases(comparison, root)),
            *(Case(name, "diff", "target", "skipped", reason) for name in added),
            *target_runs.cases,
        ),
        (),
        {
            "equal": not target_runs.failed
            and all(comparison.equal for comparison in comparisons.values()),
            "revision": side,
            "targets": [
                {"target": name, **comparison.to_data()} for name, comparison in comparisons.items()
            ],
            "added": [*added],
            "removed": [*removed],
            "failed": failure_data(target_runs.failed),
        },
        notes=tuple(notes),
        text="\n".join(filter(None, map(render_comparison, comparisons.values()))),
        seconds=target_runs.seconds,
    )


def _cases(comparison: Comparison, root: Path | None) -> Iterator[Case]:
    """Yield a case for each change and each different option, or one case for equal programs.

    Changes with the same text are one case.  Changes of type that only follow from the operands are
    also one case.
    """
    target = " -> ".join(side.label for side in comparison.sides)
    retyped = [change for change in comparison.changes if change.kind == "retyped"]
    changes_by_text: dict[str, list[ComparedChange]] = {}
    for change in comparison.changes:
        if change.kind != "retyped":
            changes_by_text.setdefault(change_text(change).strip(), []).append(change)
    for text, changes in [*changes_by_text.items()][:MOST]:
        times = f"  ({len(changes)} times)" if len(changes) > 1 else ""
        yield _case(target, changes[0], text + times, root)
    if (more := len(changes_by_text) - MOST) > 0:
        yield Case(target, "diff", "more changes", "failed", f"{more} more: --json shows all")
    if retyped:
        text = f"{len(retyped)} operations give another type, as the operands do; the first:\n"
        yield _case(target, retyped[0], text + change_text(retyped[0]), root)
    for option in comparison.options:
        message = f"{option.name}: {option.before} -> {option.after}"
        figures = to_data(option)
        yield Case(target, "diff", f"option {option.name}", "failed", message, figures=figures)
    if comparison.equal:
        yield Case(target, "diff", "program", "passed")


def _case(target: str, change: ComparedChange, message: str, root: Path | None) -> Case:
    spot, after = change.spot, change.after
    place = f"{after.file}:{after.line}" if after and after.file else ""
    what = f"{change.role} {short_name(spot.name)}" if spot else change.role
    places = place_in(root, place) if root is not None else ()
    return Case(target, "diff", f"{what} {change.kind}", "failed", message, places)
