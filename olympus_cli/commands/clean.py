"""`olympus clean`: remove the outputs of targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from olympus.errors import UsageError
from olympus_cli.builder.selection.cleaning import Removal, remove_outputs, stale_folders
from olympus_cli.options.shared import Command, common_options, project_option
from olympus_cli.process import interrupts
from olympus_cli.spec.model import Project
from olympus_cli.spec.resolve import open_project
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import byte_size

_SHOWN = 3  # foreign files of a folder in a message


@click.command("clean", cls=Command)
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@project_option
@click.option(
    "--stale", is_flag=True, help="Remove the outputs of targets that olympus.toml no longer has."
)
@click.option("--all", "every", is_flag=True, help="Remove the outputs of all targets.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@common_options
def command(
    names: tuple[str, ...],
    project: str | None,
    stale: bool,
    every: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Files that no build wrote remain, and so does the history. A build that runs is
    waited for.

    \b
    Examples:
      olympus clean 'train@*'
      olympus clean --stale --dry-run
      olympus clean --all
    """
    if not (names or stale or every):
        raise UsageError(
            "clean needs a target, --stale or --all",
            hint="olympus clean --all removes the outputs of all targets",
        )
    opened = open_project(project)
    chosen = _chosen(opened, names, stale, every)
    with interrupts.interrupts_raised():
        removals = remove_outputs(chosen, opened, dry_run, _on_wait)
    removed = [removal for removal in removals if removal.files]
    if as_json:
        console.print_json(_document(removed, dry_run))
    else:
        _show(removed, dry_run)
    for removal in removed:
        _report_foreign(removal)


def _on_wait(folder: Path) -> None:
    console.message(f"waiting for another build in {folder} to end")


def _chosen(opened: Project, names: Sequence[str], stale: bool, every: bool) -> list[str]:
    """Return the names of the folders to clean; those of no target are first."""
    targets = [*opened.targets] if every else []
    targets += [spec.name for spec in opened.select(names)] if names else []
    targets += [name for name, parts in opened.bundles.items() if set(parts) <= set(targets)]
    return list(dict.fromkeys([*(stale_folders(opened) if stale or every else ()), *targets]))


def _show(removed: Sequence[Removal], dry_run: bool) -> None:
    verb = "would remove" if dry_run else "removed"
    for removal in removed:
        console.data(f"{verb}  {removal.target}: {_freed(removal.files, removal.bytes)}")
    files, size = (sum(getattr(r, name) for r in removed) for name in ("files", "bytes"))
    console.message(f"{verb} {_freed(files, size)}" if removed else "nothing to remove")


def _freed(files: int, size: int) -> str:
    return f"{files} {'file' if files == 1 else 'files'}, {byte_size(size)}"


def _report_foreign(removal: Removal) -> None:
    if removal.foreign:
        some = ", ".join(removal.foreign[:_SHOWN])
        more = len(removal.foreign) - _SHOWN
        rest = f" and {more} more" if more > 0 else ""
        console.message(
            f"note: {display_path(removal.folder)} has files that no build wrote: {some}{rest}"
        )


def _document(removed: Sequence[Removal], dry_run: bool) -> dict[str, Any]:
    rows = [
        {
            "target": removal.target,
            "folder": str(removal.folder),
            "files": removal.files,
            "bytes": removal.bytes,
            "foreign": list(removal.foreign),
        }
        for removal in removed
    ]
    return {"dry_run": dry_run, "bytes": sum(r.bytes for r in removed), "removed": rows}
