"""`olympus init`: write a commented olympus.toml and an example program."""

from __future__ import annotations

import os
from pathlib import Path

import click

from olympus.artifact import write_whole
from olympus.errors import UsageError
from olympus_cli import console
from olympus_cli.options import Command, common_options
from olympus_cli.output import check_writable
from olympus_cli.templates import FILES

__all__ = ["command"]


@click.command("init", cls=Command)
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--force", is_flag=True, help="Overwrite files of the same names.")
@common_options
def command(folder: str, force: bool, as_json: bool) -> None:
    """\b
    Examples:
      olympus init
      olympus init first
    """
    paths = {name: Path(folder) / name for name in FILES}
    present = [str(path) for path in paths.values() if os.path.exists(path)]
    if present and not force:
        exist = "exists" if len(present) == 1 else "exist"
        raise UsageError(f"{' and '.join(present)} {exist} already", hint="--force overwrites")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}") from error
    for path in paths.values():
        check_writable(path)
    for name, path in paths.items():
        write_whole(path, FILES[name])
    if as_json:
        console.print_json({"written": [str(path) for path in paths.values()]})
    else:
        there = "" if folder == "." else f" --project {folder}"
        console.say(f"wrote {' and '.join(map(str, paths.values()))}")
        console.say(f"next: olympus build{there}")
