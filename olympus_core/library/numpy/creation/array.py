"""Arrays of values, nested lists, buffers and iterables: `array`, `asarray`, `frombuffer`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, put_array
from olympus_core.arrays.sharded_array import ShardedArray, put_on
from olympus_core.base import dtypes, source
from olympus_core.base.avals import get_aval, refuse_masked, self_converted, shaped
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import (
    ArgumentError,
    DTypeError,
    ExchangeError,
    ShapeError,
    UnsupportedError,
)
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, DTypeLike
from olympus_core.library.device import default_backend, placed
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax.slicing import stack
from olympus_core.library.promotion import check_arrays, check_number, convert, warn_discarded
from olympus_core.library.structural import structural
from olympus_core.placement.sharding import SingleDeviceSharding
from olympus_core.primitives.elementwise.logic import ne_p
from olympus_core.primitives.shape import broadcast_in_dim_p, copy_p
from olympus_core.transforms.data import is_float0
from olympus_core.xla import Device

_PYTHON_TYPES: Final = frozenset({bool, int, float, complex})


@out_sharded
@structural()
def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return `a` as an array: `a` itself if it is an array of that dtype.

    `a` is an array, a scalar, or nested sequences of these; a Python scalar without `dtype` gives
    a weakly typed array.  `copy` True copies, False raises ArgumentError for a NumPy array on
    another backend than the CPU.  The array is on `device` if that is given.
    Raises DTypeError for values that are not numbers, ShapeError for ragged sequences, and
    RangeError for a Python int that is out of range.

    >>> asarray([1, 2.5])
    Array([1. , 2.5], dtype=float32)
    """
    if dtype is None and not copy and isinstance(a, Array) and device is None:
        return a
    from_host = hasattr(a, "__array__") and not isinstance(a, Array)
    if copy is False and from_host and (backend := default_backend()) != "cpu":
        raise ArgumentError(
            f"jnp.asarray: cannot convert object of type {type(a)} to JAX Array on {backend=} "
            "with copy=False. Consider using copy=None or copy=True instead."
        )
    elements: Any = a
    same = isinstance(a, Array) and (dtype is None or dtypes.dtype(dtype) == a.dtype)
    if copy is not False or not same:
        elements = array(a, dtype, copy=bool(copy), order=order or "K")
    result = placed(elements, device)
    return result


@out_sharded
@structural()
def array(
    object: Any,
    dtype: DTypeLike | None = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """A new array of the values of `object`, with at least `ndmin` dimensions; see `asarray`.

    >>> array([[1, 2], [3, 4]], dtype="int8")
    Array([[1, 2],
           [3, 4]], dtype=int8)
    """
    if order not in (None, "K", "C", "A"):
        raise UnsupportedError(
            f"Only implemented for order='K': arrays have no memory order, and order is {order!r}"
        )
    target_dtype = None if dtype is None else dtypes.requested("array", dtype)
    result = _array(object, target_dtype, copy)
    if result.ndim < ndmin:
        shape = (1,) * (ndmin - result.ndim) + result.shape
        dims = tuple(range(ndmin - result.ndim, ndmin))
        result = broadcast_in_dim_p.bind(result, shape=shape, broadcast_dimensions=dims)
    return placed(result, device)


def _array(x: Any, dtype: DType | None, copy: bool) -> Any:
    x = self_converted(x)
    if dtype is None and is_float0(x):  # the tangent of an integer has no data
        return x
    if isinstance(x, Array):
        if dtype is None or (dtype == x.dtype and not x.weak_type):
            return _copied(x) if copy else x
        warn_discarded(x.dtype, dtype)
        result: Array = convert(x, dtype)
        return result
    if dtypes.is_python_scalar(x):
        own = get_aval(x)
        target_dtype = own.dtype if dtype is None else dtype
        aval = shaped((), target_dtype, dtype is None and own.weak_type)
        if dtype is not None:
            check_number(x, target_dtype)
            x = bool(x) if target_dtype == dtypes.bool_ else x
        exact = isinstance(x, int) and dtypes.kind(target_dtype) in "iu"
        return put_array(x if exact else convert(x, target_dtype), aval)
    if isinstance(x, (list, tuple)):
        return _from_sequence(x, dtype)
    return _put(_numpy_value(x), dtype)


def _copied(x: Array) -> Array:
    if isinstance(x, ShardedArray):
        return put_on(x.numpy(), x.sharding, x.aval)
    if isinstance(x, DeviceArray):
        return put_array(x.numpy(), x.aval)
    result: Array = copy_p.bind(x)
    return result


def _numpy_value(x: Any) -> np.ndarray[Any, Any]:
    if x is None:
        raise ArgumentError("None is not a valid value for jnp.array")
    refuse_masked(x)
    value = np.asarray(x)
    if value.dtype.kind in "OUSMm" or (value.dtype.kind == "V" and value.dtype.names):
        raise DTypeError(
            f"Value {x!r:.80} with dtype {value.dtype} is not a valid JAX array type. Only "
            "arrays of numeric types are supported"
        )
    return value


def _put(value: np.ndarray[Any, Any], dtype: DType | None) -> Array:
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    target_dtype = dtypes.canonicalize(value.dtype) if dtype is None else dtype
    if value.dtype != target_dtype:
        if value.dtype.kind == "c" and dtypes.kind(target_dtype) != "c":
            warn_discarded(value.dtype, target_dtype)
            value = value.real
        with np.errstate(all="ignore"):
            value = value.astype(target_dtype)
    return put_array(value)


def _leaves(x: Any, leaves: list[Any]) -> list[Any]:
    for item in x:
        if isinstance(item, (list, tuple)):
            _leaves(item, leaves)
        else:
            leaves.append(item)
    return leaves


def _from_sequence(x: Any, dtype: DType | None) -> Array:
    leaves = _leaves(x, [])
    for leaf in leaves:
        if isinstance(leaf, Array) or hasattr(leaf, "__jax_array__"):
            return _stacked(x, dtype or _common_dtype(leaves))
        if leaf is None:
            raise ArgumentError(
                "None is not a valid value for jnp.array, and the sequence contains it"
            )
    if dtype is None:
        dtype = _common_dtype(leaves)
    elif dtypes.kind(dtype) in "iuf":
        for leaf in leaves:
            if leaf.__class__ is float or leaf.__class__ is complex:
                check_number(leaf, dtype)
    try:
        plain = set(map(type, leaves)) <= {bool, int}
        value = np.array(x, dtype=dtype if plain else None)
    except ValueError as e:
        raise ShapeError(f"array needs sequences of one length at each depth: {e}") from None
    if dtype == dtypes.bool_ and value.dtype.kind == "c":
        value = value != 0
    return _put(_numpy_value(value), dtype)


def _common_dtype(leaves: list[Any]) -> DType:
    """Return the dtype of an array of these values: values with a dtype override Python scalars."""
    if not leaves:
        return dtypes.default_dtype("f")
    kinds = {type(x) for x in leaves}
    distinct = [kind() for kind in kinds] if kinds <= _PYTHON_TYPES else leaves
    avals = {get_aval(_leaf(self_converted(x))) for x in distinct}
    return dtypes.promote(*{(a.dtype, a.weak_type) for a in avals})[0]


def _leaf(x: Any) -> Any:
    is_array_or_scalar = isinstance(x, (Array, np.ndarray, np.generic)) or dtypes.is_python_scalar(
        x
    )
    return x if is_array_or_scalar else _numpy_value(x)


def _stacked(x: Any, dtype: DType) -> Array:
    if not isinstance(x, (list, tuple)):
        element: Array = _array(x, dtype, copy=False)
        return element
    if not x:
        return put_array(np.zeros((0,), dtype))
    return stack([_stacked(item, dtype) for item in x])


@structural()
def copy(a: ArrayOrKeys, order: str | None = None) -> Array:
    """Return a new array with the values of `a`.

    >>> copy(asarray([1, 2]))
    Array([1, 2], dtype=int32)
    """
    check_arrays("copy", a)
    return array(a, copy=True, order=order)


def astype(
    x: ArrayLike, dtype: DTypeLike | None, /, *, copy: bool = False, device: Device | None = None
) -> Array:
    """`x` with its elements converted to `dtype` (the default float for None), on `device`.

    Floats lose their fraction as integers, and complex values their imaginary part.

    >>> astype(asarray([1.5, -1.5]), "int32")
    Array([ 1, -1], dtype=int32)
    """
    check_arrays("astype", x)
    x = self_converted(x)
    target_dtype = dtypes.requested("astype", dtype)
    is_complex = dtypes.kind(get_aval(x).dtype) == "c"
    if is_complex and dtypes.kind(target_dtype) not in "cb":
        warnings.warn(
            "Casting from complex to real dtypes will soon raise a ValueError: use "
            "olympus.numpy.real or olympus.numpy.imag",
            DeprecationWarning,
            stacklevel=source.user_level(),
        )
    if is_complex and target_dtype == dtypes.bool_:
        x = ne_p.bind(x, convert(0, get_aval(x).dtype))
    elif is_complex or dtypes.is_python_scalar(x):
        x = convert(x, target_dtype)
    result = _array(x, target_dtype, copy)
    return result if device is None else placed(result, device)


def from_dlpack(
    external_array: Any, device: Device | None = None, copy: bool | None = None
) -> Array:
    """Return another library's array, exchanged by `__dlpack__`, as an array on `device`.

    The elements are copied, as the other library may write to its array; an array of OLYMPUS is
    returned as it is unless `copy` is True.  Read-only arrays are accepted.  Raises DTypeError for
    an object without `__dlpack__`, and ExchangeError (a BufferError) if `copy` is False and a copy
    is needed.

    >>> from_dlpack(np.arange(3, dtype="int8"))
    Array([0, 1, 2], dtype=int8)
    """
    x = external_array
    if isinstance(x, Array):
        result = placed(_copied(x) if copy else x, device)
    elif not hasattr(x, "__dlpack__"):
        raise DTypeError(f"from_dlpack needs an object with __dlpack__, and got {type(x).__name__}")
    else:
        here = SingleDeviceSharding(xla.default_device()) if device is None else device
        result = placed(_put(xla.host_value(x), None), here)
    if copy is False and result is not x:
        raise ExchangeError(
            f"from_dlpack cannot take the {type(x).__name__} without a copy",
            hint="pass copy=None, or leave it out",
        )
    return result


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """Return a vector whose elements' bytes are in a buffer, such as bytes; they are copied.

    dtype: the dtype of the bytes; the default, float, is 64 bits wide.  count: the number of
    elements to read, by default all.  offset: the number of bytes to skip first.

    Raises ArgumentError if the buffer has too few elements, or is not a buffer.

    >>> frombuffer(b"abcd", dtype="uint8", count=2, offset=1)
    Array([98, 99], dtype=uint8)
    """
    try:
        value = np.frombuffer(buffer, dtypes.dtype(dtype), count, offset)
    except (AttributeError, TypeError, ValueError) as e:
        raise ArgumentError(f"frombuffer cannot read the buffer: {e}") from None
    return asarray(value)


def fromiter(iter: Iterable[ArrayLike], dtype: DTypeLike, count: int = -1) -> Array:
    """Return a vector of the elements of an iterable, as `dtype`; the first `count`, or all.

    Raises ArgumentError if the iterable is shorter, or an element does not fit the dtype.

    >>> fromiter(range(3), dtype="int32")
    Array([0, 1, 2], dtype=int32)
    """
    try:
        value = np.fromiter(iter, dtypes.dtype(dtype), count)
    except (TypeError, ValueError, OverflowError) as e:
        raise ArgumentError(f"fromiter cannot read the elements: {e}") from None
    return asarray(value)
