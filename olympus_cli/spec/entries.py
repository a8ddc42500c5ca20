"""The forms of an entry: a Python function, a file with a program of another tool, or a bundle."""

from __future__ import annotations

import re
from typing import NamedTuple

#: The suffix of ONNX models.
ONNX_SUFFIX = ".onnx"

#: The suffix of bundles.
BUNDLE_SUFFIX = ".olympus"

#: The suffixes of files with StableHLO, MHLO or HLO, and of files of `jax.export`.
PROGRAM_SUFFIXES = (".mlir", ".mlirbc", ".hlo", ".hlo.txt", ".hlo.pb", ".jax_export")

#: The values of the key `frontend`, the default first.
FRONTENDS = ("auto", "olympus", "jax", "torch")

#: The forms, for messages.
FORMS = (
    "an entry is package.module:function, path/file.py:function or a file such as "
    "step.mlir, model.onnx or step.olympus"
)

_SUFFIXES = sorted((*PROGRAM_SUFFIXES, ONNX_SUFFIX, BUNDLE_SUFFIX), key=len, reverse=True)
_NAME = re.compile(r"[\w+-][\w.+-]*")  # of a program, and so of files


class ProgramFile(NamedTuple):
    """A file with a program; `part` is the function or output of it that is the program.

    `part` is None for the function `main`, and for all outputs of a model.
    """

    path: str
    part: str | None = None

    @property
    def stem(self) -> str:
        """The name of the file without its folder and its suffix."""
        name = self.path.rpartition("/")[2]
        return name.removesuffix(next(s for s in _SUFFIXES if name.endswith(s)))


def program_file(entry: str) -> ProgramFile | None:
    """Return the file of an entry `FILE` or `FILE:part`; None for a Python function.

    >>> program_file("models/step.mlir:forward"), program_file("model.onnx:softmax:0")
    (ProgramFile(path='models/step.mlir', part='forward'),
     ProgramFile(path='model.onnx', part='softmax:0'))
    """
    for suffix in _SUFFIXES:
        if entry.endswith(suffix) and f"{suffix}:" not in entry:
            return ProgramFile(entry)
        path, colon, part = entry.partition(f"{suffix}:")
        if colon and part:
            return ProgramFile(path + suffix, part)
    return None


def is_entry(text: str) -> bool:
    """Return True for the text of an entry, False for the name of a target.

    >>> is_entry("model:forward"), is_entry("step.mlir"), is_entry("step")
    (True, True, False)
    """
    return ":" in text or program_file(text) is not None


def entry_name(entry: str) -> str:
    r"""Return the name of an entry's program: that of its function or output, or of its file.

    A file's name may have characters that cannot be shown, and the name of a program has none.

    >>> entry_name("models/step.mlir"), entry_name("a\tb.onnx")
    ('step', 'a_b')
    """
    file = program_file(entry)
    if file is None:
        return entry.rpartition(":")[2]
    part = file.part or "main"
    if part != "main" and _NAME.fullmatch(part):
        return part
    return "".join(c if c.isprintable() else "_" for c in file.stem)


def is_onnx(entry: str) -> bool:
    """Return True for the entry of an ONNX model.

    >>> is_onnx("model.onnx:y"), is_onnx("model:forward")
    (True, False)
    """
    file = program_file(entry)
    return file is not None and file.path.endswith(ONNX_SUFFIX)


def is_bundle(entry: str | None) -> bool:
    """Return True for the entry of a bundle, False for another one and for None.

    >>> is_bundle("step.olympus"), is_bundle("model:forward")
    (True, False)
    """
    file = None if entry is None else program_file(entry)
    return file is not None and file.path.endswith(BUNDLE_SUFFIX)
