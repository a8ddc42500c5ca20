"""The table `env` of a target: environment variables of the process that imports its program."""

from __future__ import annotations

import re
from collections.abc import Mapping

from olympus_cli.spec.matrix import text_of
from olympus_cli.spec.section import Section
from olympus_cli.spec.toml import toml_key

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_X64 = "OLYMPUS_ENABLE_X64"
#: The variables that OLYMPUS or Python has read when the module of a target is imported.
_EARLY = re.compile(r"PYTHON[A-Z]+|LD_\w+|DYLD_\w+|TF_CPP_MIN_LOG_LEVEL|_OLYMPUS_\w+")
_TOO_LATE = "is read before the target is loaded"


def check_variables(section: Section) -> None:
    """Check the names and values of `env` in the table of a target, before the matrix fills them.

    Raises:
        SpecError: a name is invalid or the variable has no effect, or a value is not a string.
    """
    table = section.table("env")
    for name, value in table.data.items():
        if not _NAME.fullmatch(name):
            section.fail("env", f"has {name!r}, which is not the name of an environment variable")
        if name == _X64:
            table.fail(name, _TOO_LATE, "write x64 = true in the target")
        if _EARLY.fullmatch(name):
            hint = f"set it for the command: {name}=... olympus"
            table.fail(name, _TOO_LATE, hint)
        if isinstance(value, str) and "\0" in value:
            table.fail(name, f"is {value!r}, and a variable cannot have a NUL character")
        if not isinstance(value, str):
            text = text_of(value) if isinstance(value, int | float) else "..."
            hint = f'the values of variables are strings: {toml_key(name)} = "{text}"'
            table.fail(name, f"must be a string; got {value!r}", hint)


def environment_of(section: Section) -> Mapping[str, str]:
    """Return the variables of a target whose matrix is filled; a number becomes its text."""
    return {name: text_of(value) for name, value in section.table("env").data.items()}
