"""`olympus diff`: what changed between two programs, by operation and source line."""

from __future__ import annotations

from pathlib import Path

import click

from olympus.errors import ArtifactError
from olympus_cli import console, interrupts, signals
from olympus_cli.comparison.comparing import compared
from olympus_cli.comparison.html import render_page
from olympus_cli.comparison.loading import read_side
from olympus_cli.comparison.report import comparison_report
from olympus_cli.comparison.revision import blaming_revision
from olympus_cli.comparison.sides import FileSide, Side, TargetSide, both_sides
from olympus_cli.isolated.call import call
from olympus_cli.options import (
    Command,
    FilePath,
    backend_options,
    gate_options,
    request_options,
    stage_options,
)
from olympus_cli.output import write_file
from olympus_cli.reports.outputs import Outputs
from olympus_cli.spec.resolve import Request

__all__ = ["command"]

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
    type=FilePath(),
    help="Write the comparison to FILE, side by side.",
)
@gate_options
def command(
    first: str, second: str | None, request: Request, page: Path | None, outputs: Outputs
) -> None:
    """A and B are each a TARGET, an ENTRY, the folder of a build, a FILE.olympus, a file with
    StableHLO, git:REV or git:REV:TARGET.  A TARGET alone is compared with its last build.

    The exit code is 0 if nothing differs, and 1 if the programs or their options do.

    \b
    Examples:
      olympus diff forward
      olympus diff git:HEAD~1 forward --html forward.html
      olympus diff old.olympus build/forward --json
      olympus diff git:origin/main forward --output github
    """
    with (
        interrupts.raised(),
        signals.raised(),
        both_sides(first, second, request) as sides,
        console.progress("comparing") as bar,
    ):
        read = [_read(side, bar) for side in sides]
        bar.describe("compare")
        document = call(
            compared, *read, does="compares the programs", quiet=True, death=ArtifactError
        )
    for note in document["notes"]:
        console.say(f"note: {note}")
    if page is not None:
        write_file(page, render_page(document))
    outputs.write(comparison_report(document, _root(sides[1])))
    if not document["equal"]:
        click.get_current_context().exit(_DIFFERENT)


def _root(side: Side) -> Path | None:
    """The folder that the lines of a side are told from, if its files are here as it has them."""
    if isinstance(side, FileSide):
        return Path()
    return side.spec.root if isinstance(side, TargetSide) and side.revision is None else None


def _read(side: Side, bar: console.Bar) -> object:
    def on_stage(stage: str) -> None:
        bar.describe(f"{side.label}: {stage}")

    if not isinstance(side, TargetSide):
        return call(read_side, side, does="reads a program", quiet=True, death=ArtifactError)
    if side.revision is None:
        return call(read_side, side, does="lowers", on_stage=on_stage)
    with blaming_revision(side.revision):
        return call(read_side, side, does="lowers", on_stage=on_stage)
