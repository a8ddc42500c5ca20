"""The choice of the frontend of a target, by the form of its entry and by its function."""

from __future__ import annotations

from olympus_cli.frontends.program_source import ProgramSource
from olympus_cli.spec.entries import program_file
from olympus_cli.spec.model import TargetSpec


def load_target(spec: TargetSpec) -> ProgramSource:
    """Return the program of a target: import its entry or read its file, and bind its arguments.

    Raises:
        EntryError: the entry cannot be found, imported or read.
        UsageError: the arguments do not fit the program.

    Example: `load_target(target).trace().lower()`.
    """
    if program_file(spec.entry) is not None:
        from olympus_cli.frontends.stablehlo import load_file  # few programs need it

        return load_file(spec)
    from olympus_cli.frontends.python import load_function

    source = load_function(spec)
    if spec.frontend == "olympus":
        return source
    from olympus_cli.frontends.jax_functions import chosen

    return chosen(source)
