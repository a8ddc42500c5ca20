"""`olympus list`: show the targets of olympus.toml and the state of their outputs."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import click

from olympus_cli.builder.selection.changed import changed
from olympus_cli.builder.selection.states import TargetState, target_states
from olympus_cli.options.shared import (
    Command,
    changed_since_option,
    common_options,
    project_option,
)
from olympus_cli.spec.resolve import open_project
from olympus_cli.terminal import console
from olympus_cli.text.units import byte_size, duration


@click.command("list", cls=Command)
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@project_option
@changed_since_option
@common_options
def command(
    names: tuple[str, ...], project: str | None, changed_since: str | None, as_json: bool
) -> None:
    """Without a name, list all targets, and the bundles that are joined from theirs. Nothing is
    imported or traced.

    \b
    Examples:
      olympus list
      olympus list 'train@*' --json
      olympus list --changed-since git:main
    """
    opened = open_project(project)
    specs = changed(opened.select(names or tuple(opened.targets)), opened, changed_since)
    states = target_states(specs, opened)
    if any(spec.buckets or spec.data for spec in specs):
        from olympus_cli.builder.joined_states import joined_states  # it imports the compiler

        states += joined_states(specs, opened.build_dir)
    if as_json:
        rows = [{**asdict(state), "folder": str(state.folder)} for state in states]
        console.print_json({"targets": rows})
    elif states:
        header = ("target", "backends", "state", "built", "time", "size")
        console.table(header, [_row(state) for state in states])


def _row(state: TargetState) -> tuple[str, ...]:
    built = datetime.fromisoformat(state.built).astimezone() if state.built else None
    moment = "" if built is None else built.strftime("%Y-%m-%d %H:%M:%S")
    size = byte_size(state.bytes) if state.bytes else ""
    took = "" if state.seconds is None else duration(state.seconds)
    return state.target, ", ".join(state.backends), state.state, moment, took, size
