"""The parts that the frontends of files share: a base class, the checks of a target, donations."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

import olympus
from olympus.errors import EntryError, UsageError
from olympus.sharding import expect_devices
from olympus_cli.spec.entries import ProgramFile, program_file
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.target_table import at_key, with_line
from olympus_cli.text.nearest import did_you_mean
from olympus_cli.text.paths import display_path


@dataclasses.dataclass(frozen=True)
class ProgramOfFile:
    """The base of the programs of files: a file has no functions, and imports no modules."""

    spec: TargetSpec

    @property
    def name(self) -> str:
        """The name of the file, and of the part that is the program unless it is the usual one."""
        return self.spec.entry

    @property
    def definition(self) -> str | None:
        """None: the operations have the lines of the program that the file was made from."""
        return None

    @property
    def reads(self) -> str | None:
        """The file."""
        file = program_file(self.spec.entry)
        return None if file is None else display_path(Path(self.spec.root) / file.path)

    def prepare(self) -> None:
        """Do nothing: the file has the types of the arguments."""

    def default_values(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return no arrays: the file has no values of arguments."""
        return {}

    def check_imports(self) -> None:
        """Do nothing: a file imports no modules."""


def check_file(spec: TargetSpec, file: ProgramFile) -> Path:
    """Return the path of the file of a target; the CPU gets as many devices as its program needs.

    Raises:
        EntryError: the file does not exist.
        UsageError: the target has a mesh, which only functions have.
    """
    for key, value in (("mesh", spec.mesh), ("out-sharding", spec.out_sharding)):
        if value:
            error = UsageError(f"{key} is for a function, and {spec.entry} has its own")
            raise with_line(error, spec, key)
    expect_devices(spec.num_devices)
    path = Path(spec.root) / file.path
    if not path.exists():
        with at_key(spec, "entry"):
            raise EntryError(f"file {display_path(path)} does not exist")
    return path


def with_donated(traced: olympus.stages.Traced, spec: TargetSpec) -> olympus.stages.Traced:
    """Return a program whose arguments in `donate` of its target are donated.

    A name is that of an array, or of an argument with several arrays.

    Raises:
        UsageError: a name is not that of an argument.
    """
    names = traced.arg_names
    donated: list[int] = []
    for name in spec.donate:
        parts = [i for i, x in enumerate(names) if x == name or x.startswith(f"{name}[")]
        if not parts:
            error = UsageError(
                f"donate names {name!r}, which is not an argument of {spec.entry}",
                hint=did_you_mean(name, names[:20], "its arguments are"),
            )
            raise with_line(error, spec, "donate")
        donated += parts
    return traced.with_donations(donated)
