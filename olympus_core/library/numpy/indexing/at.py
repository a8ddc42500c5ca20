"""Writing by an index: `x.at[index].set(values)` and its kin, which give a new array.

A static index of a region becomes a dynamic-update-slice, a traced mask a choice between old and
new; other indices become a scatter.  Writes out of bounds are dropped unless a `mode` says
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import Shape, get_aval, shape_of
from olympus_core.context import state
from olympus_core.eager import EagerTrace
from olympus_core.errors import IndexingError, NonConcreteBooleanIndexError, ShapeError
from olympus_core.library.composite import composite
from olympus_core.library.lax import indexing as lax
from olympus_core.library.lax.indexing import Mode, scatter_apply
from olympus_core.library.lax.shape import broadcast_in_dim, reshape
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones_like
from olympus_core.library.numpy.elementwise.arithmetic import divide, power
from olympus_core.library.numpy.indexing.plan import (
    Plan,
    Span,
    as_array,
    coordinates,
    make_plan,
    parse,
)
from olympus_core.library.numpy.indexing.reading import read
from olympus_core.library.promotion import broadcast_shapes, broadcast_to, convert
from olympus_core.library.typing import ArrayLike, IndexLike, NestedArrayLike
from olympus_core.primitive import Primitive
from olympus_core.primitives.elementwise.arithmetic import add_p, max_p, min_p, mul_p, sub_p
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.elementwise.conversion import convert_element_type_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.gather import GatherScatterMode
from olympus_core.primitives.shape import broadcast_in_dim_p
from olympus_core.primitives.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p
from olympus_core.tracer import Array, Tracer

__all__ = [
    "IndexUpdateHelper",
    "IndexUpdateRef",
]

_INT32 = np.dtype("int32")


class Operation(NamedTuple):
    """How values and elements combine: as a scatter, and element by element.

    `combine` is a primitive, or None where a value replaces the element; `regional` is False where
    a scatter alone will do.
    """

    scatter: Callable[..., Array]
    combine: Primitive | None
    regional: bool = True


_SET = Operation(lax.scatter, None)
_ADD = Operation(lax.scatter_add, add_p)
_SUBTRACT = Operation(lax.scatter_sub, sub_p)
_MULTIPLY = Operation(lax.scatter_mul, mul_p)
_MIN = Operation(lax.scatter_min, min_p)
_MAX = Operation(lax.scatter_max, max_p)


class Options(NamedTuple):
    """What a user may say of an update's indices."""

    indices_are_sorted: bool = False
    unique_indices: bool = False
    mode: Mode = None
    wrap_negative_indices: bool = True


class UpdateOptions(TypedDict, total=False):
    """The keywords of an update: its options, and `out_sharding`, which is None."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: Mode
    wrap_negative_indices: bool
    out_sharding: None


def _updated(array: Any, index: Any, values: Any, operation: Operation, options: Options) -> Array:
    """The array with the elements at `index` combined with `values`, which broadcast to them."""
    x: Array = asarray(array)
    shape = x.aval.shape
    if isinstance(index, Tracer) and index.aval.dtype == BOOL and index.aval.shape:
        return _update_mask(x, index, values, operation)
    parsed = parse(index, shape)
    options = options._replace(mode=GatherScatterMode.from_any(options.mode))
    clip = options.mode is GatherScatterMode.CLIP
    entries, inside = _located(parsed.entries, shape, clip, options.wrap_negative_indices)
    if parsed.nothing or not inside:
        return x
    if operation.regional and all(map(_is_regional, entries)):
        return _update_region(x, entries, values, operation)
    plan, columns = make_plan(entries, parsed.block, shape)
    values = _fitting(x, values, plan.shape)
    if 0 in plan.shape:
        return x
    scatter = _scatter if operation.regional else _scatter.__wrapped__  # type: ignore[attr-defined]
    result: Array = scatter(
        x, values, tuple(columns), plan=plan, operation=operation, options=options
    )
    return result


def _is_regional(e: Any) -> bool:
    return e is None or e.__class__ is int or (e.__class__ is Span and e.step == 1)


def _located(entries: list[Any], shape: Shape, clip: bool, wrap: bool) -> tuple[list[Any], bool]:
    """Entries with ints from 0, and whether those lie in the array (they do if they may move)."""
    located: list[Any] = []
    inside, axis = True, 0
    for e in entries:
        if e is None:
            located.append(e)
            continue
        length = shape[axis]
        if e.__class__ is int:
            if not length:
                raise IndexingError(f"index {e} is out of bounds for axis {axis}, of length 0")
            found = e + length if e < 0 and wrap else e
            inside = inside and (clip or 0 <= found < length)
            e = min(max(found, 0), length - 1)
        located.append(e)
        axis += 1
    return located, inside


def _update_mask(x: Array, mask: Tracer, values: Any, operation: Operation) -> Array:
    """Update where a traced mask is true: any values that do not depend on how many there are."""
    shape, rank = x.aval.shape, mask.aval.ndim
    if mask.aval.shape != shape[:rank]:
        raise IndexingError(f"a mask of shape {mask.aval.shape} is not for an array of {shape}")
    if not operation.regional or len(shape_of(as_array(values))) > len(shape) - rank:
        raise NonConcreteBooleanIndexError(
            "with a mask that is traced, the values have no axis for its true elements",
            hint="use olympus.numpy.where(mask, values, x)",
        )
    values = _fitting(x, values, shape[rank:])
    wide, values = _in_one_dtype(x, values, operation)
    if shape_of(values):
        values = broadcast_to(values, shape)
    if operation.combine is not None:
        values = operation.combine.bind(wide, values)
    chosen = broadcast_in_dim(mask, shape, tuple(range(rank)))
    return _restored(select_n_p.bind(chosen, wide, values), x.aval)


def _fitting(x: Array, values: Any, shape: Shape) -> Any:
    """Values as an array or scalar that broadcasts to the shape; raises ShapeError if it does not.

    A Python number is of the array's own dtype where that has its kind.
    """
    values = as_array(values)
    have = shape_of(values)
    if len(have) > len(shape) or (have and _joint_shape(have, shape) != shape):
        raise ShapeError(f"values of shape {have} do not fit the shape {shape} at the index")
    aval = x.aval
    if dtypes.is_python_scalar(values):
        kind = dtypes.kind(aval.dtype)
        if type(values) is int and kind in "iu":
            return np.asarray(values).astype(aval.dtype)[()]
    return values


def _joint_shape(have: Shape, shape: Shape) -> Shape | None:
    """What two shapes broadcast to, or None."""
    try:
        return broadcast_shapes(have, shape)
    except ShapeError:
        return None


def _in_one_dtype(x: Any, values: Any, operation: Operation) -> tuple[Any, Any]:
    """The array and the values in the dtype to combine them in; to replace, it is the array's."""
    aval, have = get_aval(x), get_aval(values)
    if operation.combine is None:
        return x, _cast(values, aval.dtype, aval.weak_type)
    dtype, weak = dtypes.promote((aval.dtype, aval.weak_type), (have.dtype, have.weak_type))
    weak = weak and aval.weak_type
    return _cast(x, dtype, weak), _cast(values, dtype, weak)


def _cast(x: Any, dtype: dtypes.DType, weak: bool) -> Any:
    """`x` in a dtype; scalars, for which it costs nothing, as weak as is asked."""
    if get_aval(x).dtype == dtype and not dtypes.is_python_scalar(x):
        return x
    return convert(x, dtype, weak)


def _update_region(x: Array, entries: list[Any], values: Any, operation: Operation) -> Array:
    spans = [Span(e, 1, 1) if e.__class__ is int else e for e in entries if e is not None]
    outs = [1 if e is None else e.size for e in entries if e.__class__ is not int]
    values = _fitting(x, values, tuple(outs))
    if 0 in outs:
        return x
    starts = tuple([s.start for s in spans])
    if state.trace.__class__ is EagerTrace:
        starts = tuple([_INT32.type(s) for s in starts])  # one program for all positions
    sizes = tuple([s.size for s in spans])
    return _write(x, values, starts, sizes=sizes, shape=tuple(outs), operation=operation)


@composite(static_argnames=("sizes", "shape", "operation"))
def _write(
    x: Any,
    values: Any,
    starts: tuple[Any, ...],
    *,
    sizes: Shape,
    shape: Shape,
    operation: Operation,
) -> Array:
    """Combine the region of `sizes` at `starts` with values that broadcast to `shape`."""
    aval = get_aval(x)
    x, values = _in_one_dtype(x, values, operation)
    whole = sizes == aval.shape
    if shape_of(values):
        values = reshape(broadcast_to(values, shape), sizes)
    if operation.combine is not None:
        values = operation.combine.bind(x if whole else _region(x, starts, sizes), values)
    elif not shape_of(values) and sizes:
        values = broadcast_in_dim_p.bind(values, shape=sizes, broadcast_dimensions=())
    if not whole:
        starts = tuple([s if isinstance(s, Array) else _INT32.type(s) for s in starts])
        values = dynamic_update_slice_p.bind(x, values, *starts)
    return _restored(values, aval)


def _region(x: Any, starts: tuple[Any, ...], sizes: Shape) -> Any:
    if any(isinstance(s, Array) for s in starts):
        return dynamic_slice_p.bind(x, *starts, slice_sizes=sizes)
    limits = tuple([s + n for s, n in zip(starts, sizes, strict=True)])
    return slice_p.bind(x, start_indices=starts, limit_indices=limits, strides=None)


def _restored(result: Any, aval: Any) -> Array:
    """The result in the dtype that the array had, and as weak."""
    have = get_aval(result)
    if have.dtype == aval.dtype and have.weak_type == aval.weak_type and isinstance(result, Array):
        return result
    restored: Array = convert_element_type_p.bind(
        result, new_dtype=aval.dtype, weak_type=aval.weak_type
    )
    return restored


@composite(static_argnames=("plan", "operation", "options"))
def _scatter(
    x: Any,
    values: Any,
    columns: tuple[Any, ...],
    *,
    plan: Plan,
    operation: Operation,
    options: Options,
) -> Array:
    aval = get_aval(x)
    x, values = _in_one_dtype(x, values, operation)
    known = tuple([n for i, n in enumerate(plan.shape) if i not in plan.new_axes])
    if not shape_of(values):
        values = broadcast_in_dim_p.bind(values, shape=known, broadcast_dimensions=())
    else:
        values = reshape(broadcast_to(values, plan.shape), known)
    indices = coordinates(plan, columns, aval.shape, options.wrap_negative_indices)
    result = operation.scatter(
        x,
        indices,
        values,
        plan.scatter_numbers(),
        indices_are_sorted=options.indices_are_sorted or plan.ordered,
        unique_indices=options.unique_indices or plan.ordered,
        mode=options.mode,
    )
    return _restored(result, aval)


class IndexUpdateHelper:
    """`x.at`: `x.at[index]` names elements of `x`, for an update that gives a new array.

    `x.at[i].set(y)` gives what `x[i] = y` would leave in `x`, had arrays been mutable; so do
    `add`, `subtract`, `multiply` (or `mul`), `divide`, `power`, `min`, `max` and `apply` for
    `x[i] += y` and so on, with repeated indices applied as often; `get` reads.

    All take `mode`: what becomes of an index out of bounds ("drop" or "fill", "clip",
    "promise_in_bounds"; by default reads are clipped and writes dropped);
    `indices_are_sorted` and `unique_indices`, promises that let a compiler do better; and
    `wrap_negative_indices`: whether negative indices count from the end.

    >>> zeros(3).at[1].set(5.0)
    Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: ArrayLike) -> None:
        self.array = array

    def __getitem__(self, index: IndexLike) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """Elements of an array, to be read or updated; see IndexUpdateHelper."""

    __slots__ = ("array", "index")

    def __init__(self, array: ArrayLike, index: IndexLike) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        fill_value: ArrayLike | None = None,
        out_sharding: None = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The elements; out of bounds, with mode "fill", `fill_value` (see `lax.gather`)."""
        return read(
            self.array,
            self.index,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            fill_value=fill_value,
            wrap_negative_indices=wrap_negative_indices,
        )

    def _update(
        self,
        values: NestedArrayLike,
        operation: Operation,
        out_sharding: None = None,
        **options: Any,
    ) -> Array:
        if hasattr(values, "__jax_array__"):
            values = values.__jax_array__()
        return _updated(self.array, self.index, values, operation, Options(**options))

    def set(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """The array with the elements replaced by `values`."""
        return self._update(values, _SET, **options)

    def add(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """The array with `values` added to the elements."""
        return self._update(values, _ADD, **options)

    def subtract(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """The array with `values` subtracted from the elements."""
        return self._update(values, _SUBTRACT, **options)

    def multiply(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """The array with the elements multiplied by `values`."""
        return self._update(values, _MULTIPLY, **options)

    mul = multiply

    def divide(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """The array with the elements divided by `values`."""
        ones = IndexUpdateRef(ones_like(self.array), self.index)
        result: Array = divide(self.array, ones.multiply(values, **options))
        return result

    def power(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """The array with the elements raised to the power `values`."""
        ones = IndexUpdateRef(ones_like(self.array), self.index)
        return power(self.array, ones.multiply(values, **options))

    def min(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """The array with each element the lesser of itself and its value."""
        return self._update(values, _MIN, **options)

    def max(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """The array with each element the greater of itself and its value."""
        return self._update(values, _MAX, **options)

    def apply(self, func: Callable[[Array], ArrayLike], **options: Unpack[UpdateOptions]) -> Array:
        """The array with `func`, of a scalar, applied to each element, as often as it is named."""

        def scatter(x: Any, indices: Any, values: Any, numbers: Any, **kwargs: Any) -> Array:
            return scatter_apply(x, indices, func, numbers, update_shape=shape_of(values), **kwargs)

        zero = np.zeros((), get_aval(self.array).dtype)[()]
        return self._update(zero, Operation(scatter, None, regional=False), **options)
