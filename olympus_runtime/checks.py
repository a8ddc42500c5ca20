"""The check of a bundle's manifest against an executable.

A manifest that is believed without it makes wrong answers: bytes of one dtype are read as another,
rows as columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_runtime.bindings import _hlo
from olympus_runtime.errors import ArtifactError
from olympus_runtime.manifest import ArrayInfo, Signature, type_text

TypePair = tuple[Any, tuple[int, ...]]  # a NumPy dtype and sizes


class ProgramTypes(NamedTuple):
    """The types of a program's arguments and results: dtypes and shapes, flat."""

    arguments: tuple[TypePair, ...]
    results: tuple[TypePair, ...]


def program_types(module: Any) -> ProgramTypes:
    """Return the types of the arguments and results of an HLO module of the runtime.

    Raises:
      ArtifactError: they are not arrays in row-major order.
    """
    shape = _hlo.XlaComputation(module.as_serialized_hlo_module_proto()).program_shape()
    result = shape.result_shape()
    results = result.tuple_shapes() if result.is_tuple() else [result]
    return ProgramTypes(_array_types(shape.parameter_shapes()), _array_types(results))


def _array_types(shapes: Sequence[Any]) -> tuple[TypePair, ...]:
    for shape in shapes:
        rank = len(shape.dimensions()) if shape.is_array() else 0
        order = list(shape.layout().minor_to_major()) if shape.is_array() else None
        if order != list(range(rank))[::-1] or not shape.is_static():
            raise ArtifactError(f"the executable has {shape}, not an array in row-major order")
    return tuple((shape.numpy_dtype(), tuple(shape.dimensions())) for shape in shapes)


def compare_types(
    kind: str,
    where: str,
    arrays: Sequence[ArrayInfo],
    declared: Sequence[object],
    actual: Sequence[object],
) -> None:
    """Compare the declared types of the arguments or results, `kind`, with those of a program.

    Raises:
      ArtifactError: they differ; `where` names the program.
    """
    if len(declared) != len(actual):
        raise ArtifactError(
            f"its {where} has {counted(len(actual), kind)}, and its manifest has {len(declared)}"
        )
    for array, expected, type_ in zip(arrays, declared, actual, strict=True):
        if expected != type_:
            raise ArtifactError(
                f"its {where} has the {kind} {array.name!r} as {_text(type_)}, and its manifest "
                f"has {_text(expected)}"
            )


def check_donation(signature: Signature, shared: int | None) -> None:
    """Raise ArtifactError if `shared` bytes of arguments are reused and no argument is donated."""
    if shared and not any(argument.donated for argument in signature.arguments):
        raise ArtifactError(
            "its executable writes results over its arguments, and no argument is "
            "donated in its manifest"
        )


def counted(number: int, kind: str) -> str:
    """Return a number of things as text.

    >>> counted(2, "result")
    '2 results'
    """
    return f"{number} {kind}" if number == 1 else f"{number} {kind}s"


def _text(type_: object) -> str:
    return type_text(*type_) if isinstance(type_, tuple) else str(type_)
