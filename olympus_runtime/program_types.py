"""The types of the arguments and results of an executable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_bundle.errors import ArtifactError
from olympus_runtime.bindings import _hlo

TypePair = tuple[Any, tuple[int, ...]]  # a NumPy dtype and sizes


class ProgramTypes(NamedTuple):
    """The types of a program's arguments and results: dtypes and shapes, flat."""

    arguments: tuple[TypePair, ...]
    results: tuple[TypePair, ...]


def program_types(module: bytes) -> ProgramTypes:
    """Return the types of the arguments and results of a serialized HLO module.

    Raises:
      ArtifactError: they are not arrays in row-major order.
    """
    shape = _hlo.XlaComputation(module).program_shape()
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
