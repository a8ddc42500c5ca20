"""The gather and scatter functions of `olympus.lax`, with XLA's dimension numbers.

`olympus.numpy` indexing and `x.at[...]` are easier to use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, get_aval, shape_of
from olympus_core.base.errors import DTypeError, ShapeError, TransformError
from olympus_core.ir.olympuspr import ExactFloat
from olympus_core.ir.primitive import SingleResult
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.shape import expand_dims, full
from olympus_core.library.lax.slicing import concatenate
from olympus_core.library.promotion import convert
from olympus_core.library.structural import structural
from olympus_core.primitives import scatter as p
from olympus_core.primitives.elementwise.arithmetic import add_p, rem_p
from olympus_core.primitives.elementwise.logic import lt_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather_p,
)
from olympus_core.transforms.staging import stage, stage_once

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "gather",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]

Mode = str | GatherScatterMode | None


@structural()
def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Mode = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Read windows of `slice_sizes`, one for each vector in the last axis of `indices`.

    `mode` selects the handling of windows out of bounds (see GatherScatterMode; None promises that
    no window is); "fill" reads `fill_value`: by default NaN, or an integer dtype's least value, or
    an unsigned one's greatest, or True.  Raises ShapeError if the numbers do not match the shapes,
    ArgumentError if the indices are not integers, and DTypeError for a complex `fill_value` with a
    real operand.

    Source: https://www.openxla.org/xla/operation_semantics#gather

    >>> gather(array([5, 6, 7]), array([[2], [0]]), GatherDimensionNumbers((), (0,), (0,)), (1,))
    Array([7, 5], dtype=int32)
    """
    gather_mode = (
        GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    )
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=GatherDimensionNumbers(*map(tuple, dimension_numbers)),
        slice_sizes=canonical_shape(slice_sizes, "slice_sizes"),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=gather_mode,
        fill_value=_fill(gather_mode, fill_value, get_aval(operand).dtype),
    )


def _fill(mode: GatherScatterMode, value: Any, dtype: dtypes.DType) -> Any:
    """Return the scalar that is read out of bounds, or None if the mode has none."""
    if mode is GatherScatterMode.ONE_HOT:
        return 0
    if mode is not GatherScatterMode.FILL_OR_DROP:
        return None
    if value is not None:
        if shape_of(value):
            raise ShapeError(f"a fill value is a scalar, and has shape {shape_of(value)}")
        scalar = np.asarray(value).item()
        if isinstance(scalar, complex) and dtypes.kind(dtype) in "uif":
            raise DTypeError(f"{scalar} is not a fill value of an array of {dtype}")
        return ExactFloat(scalar) if isinstance(scalar, float) else scalar
    kind = dtypes.kind(dtype)
    if kind in "fc":
        return ExactFloat(np.nan)
    if kind == "b":
        return True
    limits = dtypes.iinfo(dtype)
    return int(limits.min if kind == "i" else limits.max)


def _scatter(
    primitive: SingleResult,
    operand: Any,
    indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
    **params: Any,
) -> Array:
    return primitive.bind(
        operand,
        indices,
        updates,
        dimension_numbers=ScatterDimensionNumbers(*map(tuple, dimension_numbers)),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        **params,
    )


if TYPE_CHECKING:

    class _ScatterFunction(Protocol):
        """A function that writes windows of updates."""

        def __call__(
            self,
            operand: ArrayLike,
            scatter_indices: ArrayLike,
            updates: ArrayLike,
            dimension_numbers: ScatterDimensionNumbers,
            *,
            indices_are_sorted: bool = False,
            unique_indices: bool = False,
            mode: Mode = None,
        ) -> Array: ...


def _scatter_function(
    name: str, primitive: SingleResult, effect: str, printed: str
) -> _ScatterFunction:
    def scatter_function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
    ) -> Array:
        return _scatter(
            primitive,
            operand,
            scatter_indices,
            updates,
            dimension_numbers,
            indices_are_sorted,
            unique_indices,
            mode,
        )

    scatter_function.__name__ = scatter_function.__qualname__ = name
    scatter_function.__doc__ = f"""Return the operand with the windows of the updates {effect}.

    Each vector in the last axis of the indices is the start of a window. All updates of one
    element apply, in an undefined order. Windows out of bounds are dropped, or moved inside if
    `mode` is "clip". Raises ShapeError if the dimension numbers do not fit the shapes, DTypeError
    if the operand and the updates differ in dtype or the indices are not integers.

    Source: https://www.openxla.org/xla/operation_semantics#scatter

    >>> {name}(array([1, 2, 3]), array([[0], [2]]), array([5, 2]),
    ...     ScatterDimensionNumbers((), (0,), (0,)))
    {printed}
    """
    return scatter_function


scatter = structural(0, 2)(
    _scatter_function(
        "scatter", p.scatter_p, "in place of its own", "Array([5, 2, 2], dtype=int32)"
    )
)
scatter_add = _scatter_function(
    "scatter_add", p.scatter_add_p, "added", "Array([6, 2, 5], dtype=int32)"
)
scatter_sub = _scatter_function(
    "scatter_sub", p.scatter_sub_p, "subtracted", "Array([-4,  2,  1], dtype=int32)"
)
scatter_mul = _scatter_function(
    "scatter_mul", p.scatter_mul_p, "multiplied in", "Array([5, 2, 6], dtype=int32)"
)
scatter_min = _scatter_function(
    "scatter_min", p.scatter_min_p, "where they are less", "Array([1, 2, 2], dtype=int32)"
)
scatter_max = _scatter_function(
    "scatter_max", p.scatter_max_p, "where they are greater", "Array([5, 2, 3], dtype=int32)"
)


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Array], ArrayLike],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Shape = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return the operand with `func`, a function of a scalar, applied to elements of windows.

    `update_shape` is the shape that updates would have; `func` is applied to an element once for
    each window that contains it.  Raises TransformError for a function that does not return a
    scalar, or that closes over arrays.

    >>> scatter_apply(array([1, 2, 3]), array([[1]]), lambda x: 10 * x,
    ...               ScatterDimensionNumbers((), (0,), (0,)), update_shape=(1,))
    Array([ 1, 20,  3], dtype=int32)
    """
    aval = get_aval(operand)

    def body(x: Any) -> list[Any]:
        result = func(x)
        if shape_of(result):
            raise TransformError(
                "the function of scatter_apply must return a scalar, and returned the shape "
                f"{shape_of(result)}"
            )
        return [convert(result, aval.dtype)]

    scalar, what = aval.update(shape=(), weak_type=False), "a scatter's function"
    program = stage_once(func, (what, scalar), lambda: stage(body, [scalar], what=what))
    if program.consts:
        raise TransformError(
            "the function of scatter_apply closes over arrays, and can use scalars only",
            hint="gather the elements, compute, and scatter the results with `set`",
        )
    return _scatter(
        p.scatter_apply_p,
        operand,
        scatter_indices,
        full(update_shape, 0, aval.dtype),
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
        olympuspr=program,
    )


def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """Return the slices of `src` at coordinates `idxs`, one rank-1 array for each of the axes.

    Coordinates out of range wrap around.

    >>> index_take(array([[1, 2], [3, 4]]), (array([1, 0]),), (0,))
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    shape, dims = shape_of(src), tuple(axes)
    indices = concatenate([expand_dims(i, (1,)) for i in idxs], 1)
    dtype = get_aval(indices).dtype
    lengths = np.array([[shape[a] for a in dims]], dtype)
    limits = np.broadcast_to(lengths, shape_of(indices))
    within_bounds = rem_p.bind(indices, limits)
    wrapped = select_n_p.bind(
        lt_p.bind(within_bounds, dtype.type(0)), within_bounds, add_p.bind(within_bounds, limits)
    )
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape) - len(dims) + 1)), dims, dims)
    sizes = [1 if i in dims else n for i, n in enumerate(shape)]
    return gather(src, wrapped, numbers, sizes)
