"""Functions that apply a user's function to parts of arrays: `vectorize`, `piecewise`.

The leading axes of `vectorize`'s arguments broadcast against each other; each is a `vmap`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import Shape, canonical_shape, get_aval, shape_of
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.base.source import function_name, wraps
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArraySequence, DTypeLike, ShapeLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, expand_dims, squeeze
from olympus_core.library.operands import choose as choose_between
from olympus_core.library.operands import operand
from olympus_core.library.promotion import broadcast_shapes, check_arrays, convert
from olympus_core.library.structural import key_classes
from olympus_core.transforms.vmapping import vmap


def piecewise(
    x: ArrayLike,
    condlist: bool | ArraySequence,
    funclist: Sequence[ArrayLike | Callable[..., ArrayLike]],
    *args: Any,
    **kw: Any,
) -> Array:
    """Apply to each element the function of the last condition that is True for it.

    `funclist` has functions of an array (called with `args` and `kw` too) or values, one for each
    condition, and optionally a default (0 otherwise).  Raises ArgumentError for another number.

    >>> piecewise(asarray([-1.0, 2.0]), [asarray([True, False])], [lambda v: -v, 7.0])
    Array([1., 7.], dtype=float32)
    """
    x, aval = operand("piecewise", x)
    masks = condlist if isinstance(condlist, (Array, np.ndarray, Sequence)) else [condlist]
    conditions = [convert(asarray(c), dtypes.bool_) for c in masks]
    count = len(conditions)
    if len(funclist) not in (count, count + 1):
        raise ArgumentError(
            f"piecewise needs {count} or {count + 1} functions, and got {len(funclist)}"
        )
    functions = list(funclist)
    otherwise = functions.pop() if len(functions) > count else 0
    result = _value(otherwise, x, args, kw)
    for condition, function in zip(conditions, functions, strict=True):
        result = choose_between("piecewise", condition, _value(function, x, args, kw), result)
    return convert(broadcast_to(result, aval.shape), aval.dtype)


def _value(function: Any, x: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    aval = get_aval(x)
    value = function(x, *args, **kw) if callable(function) else function
    return convert(value, aval.dtype)


Core = tuple[str, ...]  # the names of the core dimensions of an argument or a result

_NAME = r"[A-Za-z_]\w*|\d+"
_CORE = rf"\((?:{_NAME})?(?:,(?:{_NAME}))*\)"
_SIGNATURE = re.compile(rf"(?:{_CORE}(?:,{_CORE})*)?->{_CORE}(?:,{_CORE})*")


def _parsed(signature: str) -> tuple[list[Core], list[Core]]:
    """Return the core dimensions of the arguments and of the results."""
    text = re.sub(r"\s", "", signature)
    if not _SIGNATURE.fullmatch(text):
        raise ArgumentError(
            f"{signature!r} is not a signature of vectorize",
            hint="write one such as '(m,n),(n)->(m)'",
        )
    sides = [
        [tuple(re.findall(_NAME, core)) for core in re.findall(r"\([^)]*\)", side)]
        for side in text.split("->")
    ]
    return sides[0], sides[1]


def _bind_sizes(sizes: dict[str, int], core: Core, shape: Shape, what: str) -> None:
    """Record the sizes of named dimensions; raise ShapeError if they are not equal.

    `what` is the argument or result, and the function, for the error.
    """
    for name, size in zip(core, shape, strict=True):
        known = sizes.setdefault(name, int(name) if name.isdigit() else size)
        if known != size:
            raise ShapeError(
                f"inconsistent size for core dimension {name!r}: {size} vs {known}, for {what}"
            )


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Return the function of arrays that applies `pyfunc` to all of their elements, broadcast.

    excluded: the positions and names of arguments that are passed unchanged.  signature: the core
    dimensions of the arguments and of the results, such as "(m,n),(n)->(m)": the last axes, which
    `pyfunc` gets and returns; by default none.  Other arguments are arrays.

    Raises ArgumentError for a wrong signature or exclusion; when it is called, ArgumentError for
    another number of arguments or results, and ShapeError for shapes that do not match.

    >>> product = vectorize(dot, signature="(n),(n)->()")
    >>> product(ones((4, 3)), ones(3))
    Array([3., 3., 3., 3.], dtype=float32)
    """
    if not isinstance(excluded, Collection) or any(
        not isinstance(e, (int, str)) or (isinstance(e, int) and e < 0) for e in excluded
    ):
        raise ArgumentError(
            f"vectorize needs positions >= 0 and names as excluded, and got {excluded!r}"
        )
    cores = None if signature is None else _parsed(signature)
    context = f"on vectorized function with {excluded=} and {signature=}"  # JAX's words

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        excluded_values = {i: x for i, x in enumerate(args) if i in excluded}
        excluded_keywords = {k: v for k, v in kwargs.items() if k in excluded}
        names = [k for k in kwargs if k not in excluded_keywords]
        values = [x for i, x in enumerate(args) if i not in excluded_values]
        count = len(values)

        def call(*inputs: Any) -> Any:
            positional = iter(inputs[:count])
            every = [
                excluded_values[i] if i in excluded_values else next(positional)
                for i in range(len(args))
            ]
            named = dict(zip(names, inputs[count:], strict=True))
            return pyfunc(*every, **excluded_keywords, **named)

        call.__name__ = function_name(pyfunc)
        return _applied(call, [*values, *(kwargs[k] for k in names)], cores, context)

    return vectorized


def _applied(
    call: Callable[..., Any],
    args: list[Any],
    cores: tuple[list[Core], list[Core]] | None,
    context: str,
) -> Any:
    check_arrays("vectorize", *[x for x in args if x.__class__ not in key_classes])
    arrays = [asarray(x) for x in args]
    ins = [()] * len(arrays) if cores is None else cores[0]
    if len(ins) != len(arrays):
        raise ArgumentError(
            f"wrong number of positional arguments: expected {len(ins)}, got {len(arrays)} "
            f"{context}"
        )
    sizes: dict[str, int] = {}
    loops: list[Shape] = []
    for i, (x, core) in enumerate(zip(arrays, ins, strict=True)):
        if x.ndim < len(core):
            raise ShapeError(
                f"input with shape {x.shape} does not have enough dimensions for all core "
                f"dimensions {core} {context}: it is argument {i}"
            )
        split = x.ndim - len(core)
        _bind_sizes(sizes, core, x.shape[split:], f"argument {i} {context}")
        loops.append(x.shape[:split])
    checked = call if cores is None else _checked(call, cores[1], sizes, context)
    return _mapped(checked, arrays, loops)


def _checked(
    call: Callable[..., Any], outs: list[Core], sizes: dict[str, int], context: str
) -> Any:
    """Return the function with a check of its results' shapes against the signature."""

    def checked(*args: Any) -> Any:
        returned = call(*args)
        results = returned if isinstance(returned, tuple) else (returned,)
        if len(outs) > 1 and not isinstance(returned, tuple):
            raise ArgumentError(
                "output must be a tuple when multiple outputs are expected, got: "
                f"{_described(returned)} {context}"
            )
        if isinstance(returned, list) or len(results) != len(outs):
            raise ArgumentError(
                f"wrong number of output arguments: expected {len(outs)}, got {len(results)} "
                f"{context}"
            )
        known = dict(sizes)
        for i, (x, core) in enumerate(zip(results, outs, strict=True)):
            shape = tuple(x.shape) if hasattr(x, "shape") else shape_of(x)
            if len(shape) != len(core):
                raise ShapeError(
                    f"output shape {shape} does not match core dimensions {core} {context}: it is "
                    f"result {i}"
                )
            _bind_sizes(known, core, shape, f"result {i} {context}")
        return returned

    return checked


def _described(result: Any) -> str:
    """Return the type of an array, or the class of another result."""
    return get_aval(result).long_name() if isinstance(result, Array) else type(result).__name__


def _mapped(call: Callable[..., Any], arrays: list[Any], loops: Sequence[Shape]) -> Any:
    """Return the function mapped over the loop axes in order; axes of size 1 are repeated."""
    shape = broadcast_shapes(*loops) if loops else ()
    mapped, lone = call, []
    present = [[len(shape) - len(s) + i for i, n in enumerate(s) if n != 1] for s in loops]
    squeezed = [
        squeeze(x, tuple(i for i, n in enumerate(s) if n == 1))
        for x, s in zip(arrays, loops, strict=True)
    ]
    for axis in reversed(range(len(shape))):
        in_axes = tuple(0 if axis in axes else None for axes in present)
        if all(a is None for a in in_axes):
            lone.append(axis)
        else:
            mapped = vmap(mapped, in_axes)
    result = mapped(*squeezed)
    return tree.map(lambda x: expand_dims(x, tuple(lone)), result) if lone else result


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Any:
    """Apply `func1d(a, *args, **kwargs)` to each vector `a` along an axis of an array.

    The axes of its results, arrays or trees of them, replace that axis.  Raises ShapeError for an
    axis that `arr` does not have.

    >>> apply_along_axis(sum, 0, ones((2, 3)))
    Array([2., 2., 2.], dtype=float32)
    """
    arr, aval = operand("apply_along_axis", arr)
    place = canonical_axis(axis, aval.ndim)

    def mapped(a: Any) -> Any:
        return func1d(a, *args, **kwargs)

    for _ in range(place + 1, aval.ndim):
        mapped = vmap(mapped, in_axes=-1, out_axes=-1)
    for _ in range(place):
        mapped = vmap(mapped)
    return mapped(asarray(arr))


def fromfunction(
    function: Callable[..., Any], shape: ShapeLike, *, dtype: DTypeLike = float, **kwargs: Any
) -> Any:
    """Call `function(i, j, ..., **kwargs)` for each index of an array of the given shape.

    The function gets scalars of `dtype`, one for each axis; the dimensions of its result follow
    those of `shape`.  Raises ShapeError for an invalid shape.

    >>> fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    sizes = canonical_shape(shape)

    def mapped(*index: Any) -> Any:
        return function(*index, **kwargs)

    for axis in reversed(range(len(sizes))):
        mapped = vmap(mapped, in_axes=tuple([0 if i == axis else None for i in range(len(sizes))]))
    return mapped(*(arange(n, dtype=dtype) for n in sizes))


def apply_over_axes(
    func: Callable[[Array, int], ArrayLike], a: ArrayLike, axes: Sequence[int]
) -> Array:
    """Apply `func(a, axis)` for each axis in turn; a reduced axis remains, with length 1.

    Raises ShapeError if a result has neither as many dimensions nor one fewer.

    >>> apply_over_axes(sum, ones((2, 3)), (0, 1))
    Array([[6.]], dtype=float32)
    """
    a, aval = operand("apply_over_axes", a)
    result = asarray(a)
    for axis in axes:
        place = canonical_axis(axis, aval.ndim)
        reduced = asarray(func(result, place))
        result = expand_dims(reduced, place) if reduced.ndim == result.ndim - 1 else reduced
        if result.ndim != aval.ndim:
            raise ShapeError(
                f"apply_over_axes: the function's result has {reduced.ndim} dimensions, and needs "
                f"{aval.ndim} or {aval.ndim - 1}"
            )
    return result
