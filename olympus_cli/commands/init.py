"""`olympus init`: write a commented olympus.toml and an example program, from a template."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from olympus.artifact import write_whole
from olympus.errors import UsageError
from olympus_cli import console
from olympus_cli.options import Command, common_options
from olympus_cli.output import check_writable
from olympus_cli.templates import DEFAULT, KEPT, TEMPLATES

__all__ = ["command"]


@click.command("init", cls=Command)
@click.argument("folder", metavar="[DIR]", default=".")
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    default=DEFAULT,
    show_default=True,
    help="Write a program with one function, an MLP, a training step, or an MLP with a workflow "
    "for GitHub Actions.",
)
@click.option("--force", is_flag=True, help="Overwrite files of the same names.")
@common_options
def command(folder: str, template: str, force: bool, as_json: bool) -> None:
    """A .gitignore or a requirements.txt that exists stays as it is, also with --force.

    \b
    Examples:
      olympus init
      olympus init first --template training
    """
    files = TEMPLATES[template]
    paths = {name: Path(folder) / name for name in files}
    exist = [name for name, path in paths.items() if os.path.lexists(path)]
    kept = [str(paths.pop(name)) for name in exist if name in KEPT]
    present = [str(path) for name, path in paths.items() if name in exist]
    if present and not force:
        verb = "exists" if len(present) == 1 else "exist"
        raise UsageError(f"{_listed(present)} {verb} already", hint="--force overwrites")
    for path in paths.values():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path.parent} cannot be made: {error.strerror}") from error
        check_writable(path)
    for name, path in paths.items():
        write_whole(path, files[name])
    if as_json:
        console.print_json({"written": [str(path) for path in paths.values()], "kept": kept})
        return
    there = "" if folder == "." else f" --project {folder}"
    console.say(f"wrote {_listed([str(path) for path in paths.values()])}")
    if kept:
        console.say(f"kept {_listed(kept)}")
    console.say(f"next: olympus build{there}")


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
