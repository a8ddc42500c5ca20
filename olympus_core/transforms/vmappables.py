"""Types of users that `vmap` maps over: their handlers, and functions that get elements of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import TransformError
from olympus_core.ir import trace
from olympus_core.ir.trace import using_trace
from olympus_core.transforms.batching import BatchTrace, place_axis


class Handlers(NamedTuple):
    """The functions of a type, and the types of its axes and of its sizes."""

    spec_type: type
    axis_size_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]


#: the handlers by the type of values
handlers: dict[type, Handlers] = {}
#: the functions that return the indices along an axis, by the type of sizes
_iotas: dict[type, Callable[..., Any]] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[..., Any] | None,
) -> None:
    """Declare how `vmap` maps over values of a type.

    `in_axes` and `out_axes` have a value of `spec_type` for them, and their size along it is given
    by `axis_size`.  `to_elt(cont, get_idx, x, spec)` returns the element of a value in the mapped
    function, where `cont(x, axis)` returns that of an array, and `get_idx()` the index.
    `from_elt(cont, axis_size, x, spec)` returns the value of all elements, where
    `cont(axis_size, x, axis)` returns the array of one.  `make_iota` returns the indices for a size
    of `axis_size_type`; None if that is int.

    >>> class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> register_vmappable(
    ...     Pair, int, int,
    ...     lambda cont, _, pair, spec: Pair(cont(pair.x, spec), cont(pair.y, spec)),
    ...     lambda cont, n, pair, spec: Pair(cont(n, pair.x, spec), cont(n, pair.y, spec)),
    ...     None,
    ... )
    >>> vmap(lambda pair: Pair(pair.y, pair.x), axis_size=2)(Pair(numpy.arange(2), numpy.ones(2))).y
    Array([0, 1], dtype=int32)
    """
    handlers[data_type] = Handlers(spec_type, axis_size_type, to_elt, from_elt)
    if make_iota is not None:
        _iotas[axis_size_type] = make_iota


def unregister_vmappable(data_type: type) -> None:
    """Forget how `vmap` maps over values of a type, if that was declared.

    >>> unregister_vmappable(dict)
    """
    handlers.pop(data_type, None)


def is_vmappable(x: Any) -> bool:
    """Return True if a type of users is declared for a value."""
    return type(x) in handlers


def is_axis(x: Any) -> bool:
    """Return True if a value is an axis of a declared type other than int."""
    return type(x) is not int and any(type(x) is its.spec_type for its in handlers.values())


def concern(value: Any, out_axes: Any) -> bool:
    """Return True if arguments have values, or results axes, of declared types."""
    values = tree.leaves(value, is_leaf=is_vmappable)
    return any(map(is_vmappable, values)) or any(map(is_axis, tree.leaves(out_axes)))


class _Boxed:
    """A value of a declared type as a leaf, also of one that is a tree."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _boxed(value: Any) -> Any:
    def box(x: Any) -> Any:
        return _Boxed(x) if is_vmappable(x) else x

    return tree.map(box, value, is_leaf=is_vmappable)


def mapped_by(
    vmap: Callable[..., Callable[..., Any]],
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    options: dict[str, Any],
) -> Any:
    """Return the result of a mapped function that gets or returns values of declared types.

    `vmap` maps the function of the arguments that are arrays.
    """
    leaves, in_tree = tree.flatten((_boxed(args), _boxed(kwargs)))
    axes = tree.prefix_leaves("vmap", "in_axes", in_axes, _boxed(args))
    axes += [0] * (len(leaves) - len(axes))
    arrays = [i for i, x in enumerate(leaves) if not isinstance(x, _Boxed)]
    if options["axis_size"] is None:
        options = {**options, "axis_size": _size_of_boxed(leaves, axes)}
    results: list[Any] = []

    def of_arrays(*values: Any) -> list[Any]:
        own: Any = trace.current_trace()
        size = own.batched.size if options["axis_size"] is None else options["axis_size"]
        full = [
            _element(x.value, axis, size) if isinstance(x, _Boxed) else x
            for x, axis in zip(leaves, axes, strict=True)
        ]
        for i, x in zip(arrays, values, strict=True):
            full[i] = x
        inner_args, inner_kwargs = in_tree.unflatten(full)
        result = fun(*inner_args, **inner_kwargs)
        outs, out_tree = tree.flatten(result, is_leaf=is_vmappable)
        places = tree.prefix_leaves("vmap", "out_axes", out_axes, _boxed(result))
        stacked = [_stacked(x, axis, size) for x, axis in zip(outs, places, strict=True)]
        results.append(out_tree.unflatten(stacked))
        return []

    run = vmap(of_arrays, tuple([axes[i] for i in arrays]), None, **options)
    run(*[leaves[i] for i in arrays])
    return results[-1]


def _size_of_boxed(leaves: list[Any], axes: list[Any]) -> int | None:
    """Return the length of the first mapped axis of a declared value with a shape, else None."""
    for x, axis in zip(leaves, axes, strict=True):
        if isinstance(x, _Boxed) and type(axis) is int:
            shape = getattr(x.value, "shape", ())
            if -len(shape) <= axis < len(shape):
                return int(shape[axis])
    return None


def _element(x: Any, axis: Any, size: Any) -> Any:
    """Return the element of a value in the function that the current trace maps."""
    own: Any = trace.current_trace()
    assert isinstance(own, BatchTrace)

    def get_idx() -> Any:
        make = _iotas.get(type(size))
        return own.wrap(np.arange(int(size), dtype=np.int32) if make is None else make(size), 0)

    def of(x: Any, axis: Any) -> Any:
        if is_vmappable(x):
            return handlers[type(x)].to_elt(of, get_idx, x, axis)
        return own.wrap(x, None if axis is None else axis % get_aval(x).ndim)

    return of(x, axis)


def _stacked(x: Any, axis: Any, size: Any) -> Any:
    """Return the value of all elements of a result, outside of the current trace."""
    own: Any = trace.current_trace()
    assert isinstance(own, BatchTrace)

    def of(size: Any, x: Any, axis: Any) -> Any:
        if is_vmappable(x):
            return handlers[type(x)].from_elt(of, size, x, axis)
        value, dim = own.unwrap(x)
        if axis is None:
            if dim is not None:
                raise TransformError(
                    f"vmap: got axis spec None but output was batched on axis {dim}"
                )
            return value
        with using_trace(own.parent):
            rank = get_aval(value).ndim + (dim is None)
            return place_axis(value, dim, axis % rank, own.batched.size)

    return of(size, x, axis)
