"""`olympus diff`: what changed between two programs, by operation and source line."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from olympus.errors import ArtifactError, CompileError, UsageError
from olympus_cli.diff.comparing import SideProgram, check_side, compared
from olympus_cli.diff.comparison import Comparison
from olympus_cli.diff.gate_report import comparison_report, revision_report
from olympus_cli.diff.html import render_diff_page
from olympus_cli.diff.loading import read_side
from olympus_cli.diff.sides import (
    FileSide,
    Side,
    TargetSide,
    both_sides,
    is_whole_revision,
    names_at,
)
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.gate_reports.target_runs import TargetRuns
from olympus_cli.options.shared import (
    Command,
    WritablePath,
    backend_options,
    gate_options,
    is_verbose,
    memory_limit_option,
    request_options,
    stage_options,
    time_limit_option,
)
from olympus_cli.process import interrupts
from olympus_cli.revisions.revision import Checkouts, blaming_revision
from olympus_cli.spec.resolve import Request, open_project
from olympus_cli.terminal import console
from olympus_cli.terminal.output import write_file
from olympus_cli.workers.call import call
from olympus_cli.workers.executor import Limits

_DIFFERENT = 1


@click.command("diff", cls=Command)
@click.argument("first", metavar="A")
@click.argument("second", metavar="[B]", required=False)
@request_options
@backend_options
@stage_options
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=WritablePath(),
    help="Write a page with both programs side by side to FILE.",
)
@time_limit_option
@memory_limit_option
@gate_options
def command(
    first: str,
    second: str | None,
    request: Request,
    page: Path | None,
    time_limit: float | None,
    memory_limit: int | None,
    outputs: Outputs,
) -> None:
    """A and B are each a TARGET, an ENTRY, the folder of a build, a FILE.olympus, a StableHLO file,
    git:REV or git:REV:TARGET. Without B, a TARGET is compared with its last build, and git:REV with
    the default targets in the working tree.

    The exit code is 0 if the programs and their options are equal, and 1 if they differ.

    \b
    Examples:
      olympus diff forward
      olympus diff git:HEAD~1 forward --html forward.html
      olympus diff old.olympus build/forward --json
      olympus diff git:origin/main --output github
    """
    limits = Limits(time_limit, memory_limit)
    with interrupts.interrupts_raised(), interrupts.terminations_raised(), Checkouts() as checkouts:
        if second is None and is_whole_revision(first):
            if page is not None:
                raise UsageError(
                    f"--html needs one target, and {first} compares the default targets",
                    hint=f"name a target too: {first}:TARGET",
                )
            equal = _compare_all(first, request, checkouts, limits, outputs)
        else:
            comparison, root = _compared(first, second, request, checkouts, limits)
            if page is not None:
                write_file(page, render_diff_page(comparison))
            outputs.write(comparison_report(comparison, root))
            equal = comparison.equal
    if not equal:
        click.get_current_context().exit(_DIFFERENT)


def _compared(
    first: str, second: str | None, request: Request, checkouts: Checkouts, limits: Limits
) -> tuple[Comparison, Path | None]:
    """Return a comparison and the result of `_root`; print its notes."""
    with console.progress("comparing") as bar:
        sides = both_sides(first, second, request, checkouts)
        read = [_read(side, bar, limits) for side in sides]
        bar.describe("compare")
        try:
            data = call(
                compared,
                *read,
                action="compares the programs",
                quiet=True,
                death=ArtifactError,
                time_limit=limits.time,
                memory_limit=limits.memory,
            )
        except ArtifactError:  # the parser may have crashed: read each alone to name the file
            _check_files(sides, read, limits)
            raise
    comparison = Comparison.from_data(data)
    for note in comparison.notes:
        console.message(f"note: {note}")
    return comparison, _root(sides[1])


def _check_files(sides: Sequence[Side], read: Sequence[object], limits: Limits) -> None:
    """Read each program that is from a file in a process of its own.

    Raises:
        ArtifactError: a program cannot be read, or its process died; the message names the file.
    """
    for side, file in zip(sides, read, strict=True):
        if not isinstance(side, TargetSide):
            does = f"reads {side.label}"
            call(
                check_side,
                file,
                action=does,
                quiet=True,
                death=ArtifactError,
                time_limit=limits.time,
                memory_limit=limits.memory,
            )


def _compare_all(
    revision: str, request: Request, checkouts: Checkouts, limits: Limits, outputs: Outputs
) -> bool:
    """Compare each default target with itself at a revision; whether all are equal.

    Raises:
        OlympusError: a target could not be compared; the others were.
    """
    then = names_at(revision, request, checkouts)
    project = open_project(request.project, request.devices)
    names = [target.name for target in project.select()]
    added = [name for name in names if name not in then]
    removed = [name for name in then if name not in project.targets]
    target_runs, comparisons = TargetRuns("diff", len(names)), dict[str, Comparison]()
    try:
        for name in names:
            if name not in added:
                with target_runs.record(name):
                    comparisons[name], _ = _compared(revision, name, request, checkouts, limits)
    finally:  # what comes after a target does not take its results
        outputs.write(
            revision_report(revision, comparisons, added, removed, target_runs, project.root)
        )
    target_runs.raise_failures(is_verbose())
    return all(comparison.equal for comparison in comparisons.values())


def _root(side: Side) -> Path | None:
    """Return the folder to which a side's lines are relative; None if its files are not here."""
    if isinstance(side, FileSide):
        return Path()
    return side.spec.root if isinstance(side, TargetSide) and side.revision is None else None


def _read(side: Side, bar: console.Bar, limits: Limits) -> SideProgram:
    is_target = isinstance(side, TargetSide)
    revision = side.revision if isinstance(side, TargetSide) else None
    with nullcontext() if revision is None else blaming_revision(revision):
        data = call(
            read_side,
            side,
            action="lowers" if is_target else f"reads {side.label}",
            quiet=not is_target,
            death=CompileError if is_target else ArtifactError,
            time_limit=limits.time,
            memory_limit=limits.memory,
            on_stage=lambda stage: bar.describe(f"{side.label}: {stage}"),
        )
    return SideProgram.from_data(data)
