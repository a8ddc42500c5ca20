"""The interface of a frontend: a program that can be traced, whatever it is written in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

import olympus
from olympus.extend import mark_caller
from olympus_cli.spec.model import TargetSpec

# Every module that runs a user's function, or traces a file, imports this one. Errors and warnings
# are thereby at a line of the user's code, never of ours.
mark_caller(Path(__file__).parents[1])


class ProgramSource(Protocol):
    """The program of a target, which is not traced yet."""

    @property
    def spec(self) -> TargetSpec:
        """The target, with the values of its statics."""

    @property
    def name(self) -> str:
        """The name of the program for the user."""

    @property
    def definition(self) -> str | None:
        """The place `file:line` of the program's definition; None if it is not known."""

    @property
    def reads(self) -> str | None:
        """The file that `trace` reads, for messages; None for a function.

        A damaged file can end the process that reads it.
        """

    def prepare(self) -> None:
        """Compute the shapes that come from functions, before tracing, whose time is measured."""

    def trace(self) -> olympus.stages.Traced:
        """Return the traced program; raise an OlympusError if it fails."""

    def default_values(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the values that the program has for arguments, by name; they may be weights."""

    def check_imports(self) -> None:
        """Check that the program of a revision has imported no module of the working tree."""
