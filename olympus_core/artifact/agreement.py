"""The check of a bundle's manifest against the program inside.

A manifest that is believed without it makes wrong answers: bytes of one dtype are read as another,
rows as columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from olympus_core import dtypes, mlir, xla
from olympus_core.artifact.manifest import Argument, Result, Signature
from olympus_core.avals import ShapedArray, shaped
from olympus_core.errors import ArtifactError

__all__ = ["check_executable", "check_program"]

_Arrays = Sequence[Argument | Result]


def check_program(signature: Signature, content: bytes) -> None:
    """Compare a signature with the types of a portable StableHLO program.

    Raises:
      ArtifactError: when they differ in number, shape, dtype or donation, or the program cannot
        be read.
    """
    entry = mlir.entry_of(content)
    for kind, said, found in (
        ("argument", signature.arguments, entry.arguments),
        ("result", signature.results, entry.results),
    ):
        wanted = [mlir.tensor_type(_aval(each)) for each in said]
        _compare(kind, "StableHLO", said, wanted, found)
    for i, argument in enumerate(signature.arguments):
        if argument.donated != (i in entry.donated):
            _refuse_donation(argument.name, argument.donated, "StableHLO")


def check_executable(
    signature: Signature, executable: xla.Executable | xla.CompileOnlyExecutable
) -> None:
    """Compare a signature with the types of an executable.

    Raises:
      ArtifactError: when they differ in number, shape, dtype or the memory of donated arguments.
    """
    types = executable.types()
    for kind, said, found in (
        ("argument", signature.arguments, types.arguments),
        ("result", signature.results, types.results),
    ):
        wanted = [(_aval(each).dtype, each.shape) for each in said]
        _compare(kind, "executable", said, wanted, found)
    shared = executable.memory().alias_size_in_bytes or 0
    if shared and not any(argument.donated for argument in signature.arguments):
        raise ArtifactError(
            "its executable writes results over its arguments, and its manifest says that no "
            "argument is donated"
        )


def _aval(array: Argument | Result) -> ShapedArray:
    return shaped(array.shape, dtypes.dtype(array.dtype))


def _compare(
    kind: str, where: str, said: _Arrays, wanted: Sequence[object], found: Sequence[object]
) -> None:
    if len(wanted) != len(found):
        raise ArtifactError(
            f"its {where} has {_count(len(found), kind)}, and its manifest says {len(wanted)}"
        )
    for array, want, got in zip(said, wanted, found, strict=True):
        if want != got:
            raise ArtifactError(
                f"its {where} has the {kind} {array.name!r} as {_text(got)}, and its manifest "
                f"says {_text(want)}"
            )


def _count(number: int, kind: str) -> str:
    return f"{number} {kind}" if number == 1 else f"{number} {kind}s"


def _text(type_: object) -> str:
    if isinstance(type_, tuple):
        dtype, shape = type_
        return f"{dtype}[{','.join(map(str, shape))}]"
    return str(type_)


def _refuse_donation(name: str, said: bool, where: str) -> None:
    is_, says = ("is not", "is") if said else ("is", "is not")
    raise ArtifactError(
        f"in its {where} the argument {name!r} {is_} donated, and its manifest says that it {says}"
    )
