"""Updates at an index: `x.at[index].set(values)` and the others, which return a new array.

A static index of a region becomes a dynamic-update-slice, a traced mask a select of old and new
values; other indices become a scatter.  Writes out of bounds are dropped unless a `mode` selects
another behaviour.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from olympus_core.base import dtypes, source
from olympus_core.base.avals import Shape, ShapedArray, get_aval, self_converted, shape_of
from olympus_core.base.context import state
from olympus_core.base.errors import IndexingError, NonConcreteBooleanIndexError
from olympus_core.execution.eager import EagerTrace
from olympus_core.ir.primitive import Primitive
from olympus_core.ir.sharding_rules import spec_of
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, IndexLike, NestedArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, with_out_sharding
from olympus_core.library.lax import indexing as lax
from olympus_core.library.lax.indexing import Mode, scatter_apply
from olympus_core.library.lax.shape import broadcast_in_dim, reshape
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones_like
from olympus_core.library.numpy.elementwise.arithmetic import divide, power
from olympus_core.library.numpy.indexing.plan import (
    INTS,
    Plan,
    StaticSlice,
    as_array,
    coordinates,
    make_plan,
    parse,
)
from olympus_core.library.numpy.indexing.reading import read
from olympus_core.library.operands import scalar
from olympus_core.library.promotion import broadcast_to, check_broadcast, convert
from olympus_core.primitives.elementwise.arithmetic import add_p, max_p, min_p, mul_p, sub_p
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.elementwise.conversion import convert_element_type_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.gather import GatherScatterMode
from olympus_core.primitives.shape import broadcast_in_dim_p
from olympus_core.primitives.sharding import retyped
from olympus_core.primitives.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p

_INT32 = np.dtype("int32")


class UpdateOperation(NamedTuple):
    """The combination of values and elements: as a scatter, and element by element.

    `combine` is a primitive, or None if a value replaces the element; `regional` is False if the
    operation always needs a scatter.
    """

    scatter: Callable[..., Array]
    combine: Primitive | None
    regional: bool = True


_SET = UpdateOperation(lax.scatter, None)
_ADD = UpdateOperation(lax.scatter_add, add_p)
_SUBTRACT = UpdateOperation(lax.scatter_sub, sub_p)
_MULTIPLY = UpdateOperation(lax.scatter_mul, mul_p)
_MIN = UpdateOperation(lax.scatter_min, min_p)
_MAX = UpdateOperation(lax.scatter_max, max_p)


class Options(NamedTuple):
    """The options of an update's indices."""

    indices_are_sorted: bool = False
    unique_indices: bool = False
    mode: Mode = None
    wrap_negative_indices: bool = True


class UpdateOptions(TypedDict, total=False):
    """The keywords of an update: its options, and the sharding of the result."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: Mode
    wrap_negative_indices: bool
    out_sharding: OutSharding


def _updated(
    array: Any, index: Any, values: Any, operation: UpdateOperation, options: Options
) -> Array:
    """Return the array with the elements at `index` combined with the broadcast `values`."""
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
    is_typed = x.aval.explicit is not None  # a scatter's values need not be split as `x` is
    if operation.regional and not is_typed and all(map(_is_regional, entries)):
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
    return e is None or e.__class__ in INTS or (e.__class__ is StaticSlice and e.step == 1)


def _located(entries: list[Any], shape: Shape, clip: bool, wrap: bool) -> tuple[list[Any], bool]:
    """Return entries with ints from 0, and True if these are within the array or may be moved."""
    located: list[Any] = []
    inside, axis = True, 0
    for e in entries:
        if e is None:
            located.append(e)
            continue
        length = shape[axis]
        if e.__class__ in INTS:
            if not length:
                raise IndexingError(f"index is out of bounds for axis {axis} with size 0: {e}")
            index = e + length if e < 0 and wrap else e
            if state.keeps_indices and not 0 <= index < length:
                e = np.asarray(e, np.int32)
            else:
                inside = inside and (clip or 0 <= index < length)
                e = min(max(index, 0), length - 1)
        located.append(e)
        axis += 1
    return located, inside


def _update_mask(x: Array, mask: Tracer, values: Any, operation: UpdateOperation) -> Array:
    """Update where a traced mask is true; values may not depend on the number of elements."""
    shape, rank = x.aval.shape, mask.aval.ndim
    if mask.aval.shape != shape[:rank]:
        raise IndexingError(f"a mask of shape {mask.aval.shape} does not fit an array of {shape}")
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
    """Return values as an array or scalar that broadcasts to the shape; raise ShapeError otherwise.

    A Python number gets the array's dtype if that has its kind.
    """
    values = as_array(values)
    check_broadcast(get_aval(values), shape)
    aval = x.aval
    if dtypes.is_python_scalar(values):
        kind = dtypes.kind(aval.dtype)
        if type(values) is int and kind in "iu":
            return np.asarray(values).astype(aval.dtype)[()]
    _check_cast(get_aval(values), aval)
    return values


def _check_cast(values: ShapedArray, array: ShapedArray) -> None:
    """Warn (FutureWarning) unless the values promote to the dtype of the array.

    Raises TypePromotionError if the dtypes have no promotion.
    """
    if values.dtype == array.dtype:
        return
    dtype, _ = dtypes.promote((values.dtype, values.weak_type), (array.dtype, False))
    if dtype != array.dtype:
        warnings.warn(
            "scatter inputs have incompatible types: cannot safely cast value from dtype="
            f"{dtypes.long_name(values.dtype)} to dtype={dtypes.long_name(array.dtype)} with "
            f"numpy_dtype_promotion={state.numpy_dtype_promotion}; convert the values with .astype",
            FutureWarning,
            stacklevel=source.user_level(),
        )


def _in_one_dtype(x: Any, values: Any, operation: UpdateOperation) -> tuple[Any, Any]:
    """Return the array and the values in the dtype to combine them in; to replace, the array's."""
    aval, have = get_aval(x), get_aval(values)
    if operation.combine is None:
        return x, _cast(values, aval.dtype, aval.weak_type)
    dtype, weak = dtypes.promote((aval.dtype, aval.weak_type), (have.dtype, have.weak_type))
    weak = weak and aval.weak_type
    return _cast(x, dtype, weak), _cast(values, dtype, weak)


def _cast(x: Any, dtype: dtypes.DType, weak: bool) -> Any:
    """Return `x` in a dtype; a scalar, for which it is free, also with the weak type `weak`."""
    if get_aval(x).dtype == dtype and not dtypes.is_python_scalar(x):
        return x
    return convert(x, dtype, weak)


def _update_region(x: Array, entries: list[Any], values: Any, operation: UpdateOperation) -> Array:
    spans = [StaticSlice(e, 1, 1) if e.__class__ in INTS else e for e in entries if e is not None]
    outs = [1 if e is None else e.size for e in entries if e.__class__ not in INTS]
    values = _fitting(x, values, tuple(outs))
    if 0 in outs:
        return x
    starts = tuple([s.start for s in spans])
    if state.trace.__class__ is EagerTrace:
        starts = tuple([_INT32.type(s) for s in starts])  # one program for all start indices
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
    operation: UpdateOperation,
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
        starts = tuple([s if isinstance(s, Array) else scalar(s, _INT32) for s in starts])
        values = dynamic_update_slice_p.bind(x, values, *starts)
    return _restored(values, aval)


def _region(x: Any, starts: tuple[Any, ...], sizes: Shape) -> Any:
    if any(isinstance(s, Array) for s in starts):
        return dynamic_slice_p.bind(x, *starts, slice_sizes=sizes)
    limits = tuple([s + n for s, n in zip(starts, sizes, strict=True)])
    return slice_p.bind(x, start_indices=starts, limit_indices=limits, strides=None)


def _restored(result: Any, aval: Any) -> Array:
    """Return the result in the dtype and weak type of the array `aval`."""
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
    operation: UpdateOperation,
    options: Options,
) -> Array:
    aval = get_aval(x)
    x, values = _in_one_dtype(x, values, operation)
    known = tuple([n for i, n in enumerate(plan.shape) if i not in plan.new_axes])
    if not shape_of(values):
        values = broadcast_in_dim_p.bind(values, shape=known, broadcast_dimensions=())
    else:
        values = reshape(broadcast_to(values, plan.shape), known)
    if aval.explicit is not None:
        values = _split_like(values, aval, plan)
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


def _split_like(values: Any, aval: ShapedArray, plan: Plan) -> Any:
    """Return whole values split as the dimensions of the array that they are written to whole."""
    if any(e is not None for e in spec_of(get_aval(values))):
        return values
    windows = [d for d in range(aval.ndim) if d not in plan.collapsed]
    spec = [None] * len(shape_of(values))
    for place, d in zip(plan.offset_dims, windows, strict=True):
        if plan.sizes[d] == aval.shape[d]:
            spec[place] = spec_of(aval)[d]
    return retyped(values, get_aval(values).with_sharding(aval.explicit.with_partitions(spec)))


class IndexUpdateHelper:
    """`x.at`: `x.at[index]` selects elements of `x`, for an update that returns a new array.

    `x.at[i].set(y)` returns the array that `x[i] = y` would give if arrays were mutable; so do
    `add`, `subtract`, `multiply` (or `mul`), `divide`, `power`, `min`, `max` and `apply` for
    `x[i] += y` and so on, with repeated indices applied repeatedly; `get` reads.

    All accept `mode`: the handling of indices out of bounds ("drop" or "fill", "clip",
    "promise_in_bounds"; by default reads are clipped and writes dropped);
    `indices_are_sorted` and `unique_indices`, promises that let a compiler optimize; and
    `wrap_negative_indices`, which makes negative indices count from the end.

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
    """Selected elements of an array, to be read or updated; see IndexUpdateHelper."""

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
        out_sharding: OutSharding = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Return the elements; out of bounds, with mode "fill", `fill_value` (see `lax.gather`)."""
        return with_out_sharding(
            ".get",
            out_sharding,
            read,
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
        operation: UpdateOperation,
        out_sharding: OutSharding = None,
        **options: Any,
    ) -> Array:
        values = self_converted(values)
        run = functools.partial(_updated, operation=operation, options=Options(**options))
        return with_out_sharding(".set", out_sharding, run, self.array, self.index, values)

    def set(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with the elements replaced by `values`."""
        return self._update(values, _SET, **options)

    def add(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with `values` added to the elements."""
        return self._update(values, _ADD, **options)

    def subtract(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with `values` subtracted from the elements."""
        return self._update(values, _SUBTRACT, **options)

    def multiply(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with the elements multiplied by `values`."""
        return self._update(values, _MULTIPLY, **options)

    mul = multiply

    def divide(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with the elements divided by `values`."""
        ones = IndexUpdateRef(ones_like(self.array), self.index)
        result: Array = divide(self.array, ones.multiply(values, **options))
        return result

    def power(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with the elements raised to the power `values`."""
        ones = IndexUpdateRef(ones_like(self.array), self.index)
        return power(self.array, ones.multiply(values, **options))

    def min(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with each element replaced by the lesser of itself and its value."""
        return self._update(values, _MIN, **options)

    def max(self, values: NestedArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with each element replaced by the greater of itself and its value."""
        return self._update(values, _MAX, **options)

    def apply(self, func: Callable[[Array], ArrayLike], **options: Unpack[UpdateOptions]) -> Array:
        """Return the array with `func`, of a scalar, applied to each element once per index."""

        def scatter(x: Any, indices: Any, values: Any, numbers: Any, **kwargs: Any) -> Array:
            return scatter_apply(x, indices, func, numbers, update_shape=shape_of(values), **kwargs)

        zero = np.zeros((), get_aval(self.array).dtype)[()]
        return self._update(zero, UpdateOperation(scatter, None, regional=False), **options)
