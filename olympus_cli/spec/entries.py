"""The forms of an entry: a Python function, or a file with a program of another tool."""

from __future__ import annotations

from typing import NamedTuple

#: The suffixes of files with StableHLO, MHLO or HLO, and of files of `jax.export`.
PROGRAM_SUFFIXES = (".mlir", ".mlirbc", ".hlo", ".hlo.txt", ".hlo.pb", ".jax_export")

#: The values of the key `frontend`, the default first.
FRONTENDS = ("auto", "olympus", "jax")

#: The forms, for messages.
FORMS = "an entry is package.module:function, path/file.py:function or a file such as step.mlir"


class ProgramFile(NamedTuple):
    """A file with a program, and the function of it that is the program."""

    path: str
    function: str = "main"

    @property
    def stem(self) -> str:
        """The name of the file without its folder and its suffix."""
        name = self.path.rpartition("/")[2]
        for suffix in sorted(PROGRAM_SUFFIXES, key=len, reverse=True):
            if name.endswith(suffix):
                return name.removesuffix(suffix)
        return name


def program_file(entry: str) -> ProgramFile | None:
    """Return the file of an entry `FILE` or `FILE:function`; None for a Python function.

    >>> program_file("models/step.mlir:forward")
    ProgramFile(path='models/step.mlir', function='forward')
    """
    if entry.endswith(PROGRAM_SUFFIXES):
        return ProgramFile(entry)
    path, colon, function = entry.rpartition(":")
    if colon and path.endswith(PROGRAM_SUFFIXES) and function:
        return ProgramFile(path, function)
    return None


def is_entry(text: str) -> bool:
    """Return True for the text of an entry, False for the name of a target.

    >>> is_entry("model:forward"), is_entry("step.mlir"), is_entry("step")
    (True, True, False)
    """
    return ":" in text or program_file(text) is not None


def entry_name(entry: str) -> str:
    """Return the name of an entry's program: that of its function, or of its file."""
    file = program_file(entry)
    if file is not None and file.function == "main":
        return file.stem
    return entry.rpartition(":")[2]
