"""Helpers of transformations of trees: names, argument selection, checks, zeros and leaks."""

from __future__ import annotations

import gc
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from olympus_core.arrays.device_array import put_array
from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval, value_text
from olympus_core.base.context import state
from olympus_core.base.errors import DTypeError, TransformError, UnexpectedTracerError
from olympus_core.base.source import function_name, wraps
from olympus_core.ir import trace
from olympus_core.ir.primitive import op
from olympus_core.ir.sharding_rules import spec_of
from olympus_core.ir.trace import Trace
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.primitives.collective import varying
from olympus_core.primitives.sharding import retyped
from olympus_core.transforms.data import is_float0

_F = TypeVar("_F", bound=Callable[..., Any])
_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def names_of(
    fun: Callable[..., Any], in_tree: tree.PyTreeDef, argnums: int | Sequence[int] | None = None
) -> list[str]:
    """Return the name and path of each leaf of a tuple of arguments: `argument x['w']`."""
    try:
        signature = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        signature = []
    parameters = [p.name for p in signature if p.kind not in _REST]
    rest = next((p.name for p in signature if p.kind is p.VAR_POSITIONAL), "args")
    positions = (argnums,) if isinstance(argnums, int) else argnums
    names = []
    for path, _ in tree.flatten_with_path(in_tree.unflatten(range(in_tree.num_leaves)))[0]:
        i = path[0].idx if positions is None else positions[path[0].idx]
        name = parameters[i] if 0 <= i < len(parameters) else f"{rest}[{i}]"
        names.append(f"argument {name}{tree.keystr(path[1:])}")
    return names


def derived(fun: Callable[..., Any], what: str, argnums: Any = None) -> Callable[[_F], _F]:
    """Return `wraps(fun)` for a function of another result, `what` of `fun`."""

    def named(function: _F) -> _F:
        wrapped: Any = wraps(fun)(function)
        own = getattr(fun, "__doc__", None)
        of = "" if argnums is None else f" with respect to positional argument(s) {argnums}"
        text = f"{what} of {function_name(fun)}{of}."
        wrapped.__doc__ = f"{text}\n\nOriginal documentation:\n\n{own}" if own else text
        result: _F = wrapped
        return result

    return named


def check_callable(what: str, fun: Any) -> None:
    """Raise TransformError for a value that is not a function that returns its result."""
    if not callable(fun):
        raise TransformError(
            f"Expected a callable value, got {fun!r:.80}: {what} requires a callable for its first "
            f"argument, but got {fun!r:.80} of type {type(fun)}"
        )
    if inspect.isgeneratorfunction(fun):
        raise TransformError(
            f"Expected a function, got a generator function: {function_name(fun)}: "
            f"{what} cannot trace it",
            hint="return a list of the values",
        )


def check_arrays(
    what: str,
    fun: Callable[..., Any],
    names: Sequence[str],
    leaves: Sequence[Any],
    hint: str | None = None,
) -> None:
    """Raise TransformError, with `hint`, unless all leaves are arrays or scalars."""
    for name, x in zip(names, leaves, strict=True):
        try:
            get_aval(x)
        except DTypeError:
            raise TransformError(
                f"Argument '{x!s:.60}' of type {type(x)} is not a valid JAX type: {what} of "
                f"'{function_name(fun)}' needs arrays and scalars, and {name} is {value_text(x)}",
                hint=hint,
            ) from None


def check_results(name: str, outs: Sequence[Any], out_tree: tree.PyTreeDef) -> None:
    """Raise TransformError unless all results of the function `name` are arrays or scalars."""
    for i, x in enumerate(outs):
        try:
            get_aval(x)
        except DTypeError:
            path = tree.flatten_with_path(out_tree.unflatten(range(len(outs))))[0][i][0]
            raise TransformError(
                f"Argument '{x!s:.60}' of type {type(x)} is not a valid JAX type: '{name}' "
                f"returned {value_text(x)} as result{tree.keystr(path)}",
                hint="a function that is transformed returns arrays, scalars and trees of these",
            ) from None


def check_same(
    what: str,
    kind: str,
    names: Sequence[str],
    avals: Sequence[ShapedArray],
    values: Sequence[Any],
) -> None:
    """Raise TransformError unless each (co)tangent has the shape and dtype of its value."""
    for name, aval, t in zip(names, avals, values, strict=True):
        if getattr(t, "dtype", None) == dtypes.float0:
            shape, dtype = np.shape(t), dtypes.float0
        else:
            shape, dtype = get_aval(t).shape, get_aval(t).dtype
        expected = aval.dtype if dtypes.kind(aval.dtype) in "fc" else dtypes.float0
        if kind == "cotangent" and expected == dtypes.float0 and dtype == aval.dtype:
            expected = aval.dtype  # a value without effect, which JAX takes too
        if shape != aval.shape or dtype != expected:
            actual_type = f"{dtypes.long_name(dtype)}[{','.join(map(str, shape))}]"
            expected_type = f"{dtypes.long_name(expected)}[{','.join(map(str, aval.shape))}]"
            term = _mismatch(what, kind, aval, shape, dtypes.long_name(dtype), expected)
            raise TransformError(
                f"{term}: the {kind} of {name} must be {expected_type}, and is {actual_type}"
            )
        if kind == "cotangent" and not _is_placed_as(aval, t):
            raise TransformError(
                f"{_COTANGENT} {get_aval(t).long_name()}, but expected {aval.long_name()} because "
                "the corresponding output of the differentiated function had this type: the "
                f"cotangent of {name}"
            )
        if what == "linearize" and _is_split_otherwise(aval, t):
            raise TransformError(
                f"{_LINEARIZED} got {get_aval(t).long_name()} for the primal {aval.long_name()}"
            )
        own = () if aval.explicit is None else _sets(aval)
        if any(own) and _sets(get_aval(t)) != own:
            raise TransformError(
                f"{what}: the {kind} of {name} must be {aval.long_name()}, and is "
                f"{get_aval(t).long_name()}"
            )


_COTANGENT = "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got"


_LINEARIZED = (
    "linearized function called on tangent values inconsistent with the original primal values:"
)


def _is_split_otherwise(aval: ShapedArray, t: Any) -> bool:
    own = None if aval.explicit is None or is_float0(t) else get_aval(t)
    return own is not None and own.explicit is not None and spec_of(own) != spec_of(aval)


def _is_placed_as(aval: ShapedArray, t: Any) -> bool:
    """Return False for a cotangent that differs from its value in its axes.

    These are the explicit axes that split it, and the axes of a `shard_map` along which it varies.
    An array without a mesh may be split in any way; a traced one is on the mesh of the context.
    """
    if is_float0(t):
        return True
    own = get_aval(t)
    has_mesh = own.explicit is not None or (state.mesh is not None and isinstance(t, Tracer))
    return own.vma == aval.vma and (not has_mesh or spec_of(own) == spec_of(aval))


def _sets(aval: ShapedArray) -> tuple[frozenset[Any], ...]:
    """Return the unreduced and the reduced axes of a type."""
    none = frozenset[Any]()
    spec = None if aval.explicit is None else aval.explicit.spec
    return (none, none) if spec is None else (spec.unreduced, spec.reduced)


def _mismatch(
    what: str, kind: str, aval: ShapedArray, shape: Any, dtype: str, expected: Any
) -> str:
    """Return the start of the message for a (co)tangent of another type than its value."""
    needed = f"{dtypes.long_name(expected)}[{','.join(map(str, aval.shape))}]"
    actual = f"{dtype}[{','.join(map(str, shape))}]"
    if kind == "cotangent":
        return f"{_COTANGENT} {actual}, but expected {needed}"
    if what == "linearize":
        return f"{_LINEARIZED} got {actual} for the primal {aval.long_name()}"
    if dtype != dtypes.long_name(expected):
        return (
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in "
            "case of int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{dtypes.long_name(aval.dtype)} and so expected tangent dtype "
            f"{dtypes.long_name(expected)}, but got tangent dtype {dtype} instead"
        )
    return (
        "jvp called with different primal and tangent shapes;Got primal shape "
        f"{aval.shape} and tangent shape as {shape}"
    )


def zeros_of(aval: ShapedArray) -> Any:
    """Return an array of zeros of a type; a literal for a scalar in a traced function."""
    if not aval.shape and aval.explicit is None and not aval.vma and not trace.at_base():
        return typed_number(0, aval)
    zero = np.zeros((), aval.dtype)[()]
    zeros = op.broadcast_in_dim(zero, shape=aval.shape, broadcast_dimensions=())
    return retyped(varying(zeros, aval.vma), aval)


def float0_zeros(aval: ShapedArray) -> np.ndarray[Any, Any]:
    """Return the tangent of an integer array: a float0 array, which has no bytes."""
    return np.zeros(aval.shape, dtypes.float0)


def instantiate(x: Any, aval: ShapedArray) -> Any:
    """Return a (co)tangent, with zeros for `None`; an integer's has dtype float0."""
    if dtypes.kind(aval.dtype) not in "fc":
        return float0_zeros(aval)
    return zeros_of(aval) if x is None else retyped(x, aval)


def typed_number(value: Any, aval: ShapedArray) -> Any:
    """Return a number as a scalar of a type: of Python if that is weak, else of NumPy."""
    number = np.asarray(value, aval.dtype)[()]
    return number.item() if aval.weak_type and get_aval(number.item()) is aval else number


def as_derivative(x: Any, aval: ShapedArray) -> Any:
    """Return a derivative as an array, weakly typed if `aval` is.

    It may not come from an operation: the derivative of the identity is the initial cotangent, a
    NumPy value.
    """
    if is_float0(x):
        return x
    if aval.weak_type and not get_aval(x).weak_type:
        if isinstance(x, np.generic) and not trace.at_base():
            return typed_number(x, aval)
        return op.convert_element_type(x, new_dtype=aval.dtype, weak_type=True)
    return x if isinstance(x, Array) or not trace.at_base() else put_array(x)


def canonical_argnums(what: str, argnums: Any) -> int | tuple[int, ...]:
    """Return `argnums` as a Python int or a tuple of them; raise TransformError otherwise."""
    try:
        return operator.index(argnums)
    except TypeError:
        pass
    try:
        return tuple(map(operator.index, argnums))
    except TypeError:
        raise TransformError(
            f"{what} must be an int or a sequence of ints, and is {argnums!r}"
        ) from None


def check_positions(what: str, positions: Sequence[int], count: int) -> None:
    """Raise TransformError unless `positions` are distinct indices of `count` arguments."""
    for n in positions:
        if not -count <= n < count:
            raise TransformError(
                "Positional argument indices, e.g. for `static_argnums`, must have value greater "
                "than or equal to -len(args) "
                f"and less than len(args), but got value {n} for len(args) == {count}: {what}",
                hint="pass the selected arguments by position",
            )
    if len({n % count for n in positions}) < len(positions):
        raise TransformError(f"{what} has an argument twice: {tuple(positions)}")


def pick(name: str, args: Sequence[Any], argnums: int | Sequence[int]) -> tuple[Any, ...]:
    """Return the positional arguments `argnums`; raise TransformError if one is missing."""
    positions = (argnums,) if isinstance(argnums, int) else argnums
    what = f"argnums of the derivative of '{name}'"
    if not positions:
        raise TransformError(f"{what} has no argument: {argnums}")
    if (last := max(positions)) >= len(args):
        raise TransformError(
            f"differentiating with respect to {argnums=} requires at least {last + 1} positional "
            "arguments to be passed by the caller, but got only "
            f"{len(args)} positional arguments for '{name}'",
            hint="pass the selected arguments by position",
        )
    check_positions(what, positions, len(args))
    return tuple(args[n] for n in positions)


def refill(args: Sequence[Any], argnums: int | Sequence[int], values: Sequence[Any]) -> list[Any]:
    """Return the arguments with the chosen ones replaced."""
    positions = (argnums,) if isinstance(argnums, int) else argnums
    result = list(args)
    for n, value in zip(positions, values, strict=True):
        result[n] = value
    return result


def check_leaks(ended: Trace, what: str) -> None:
    """Raise UnexpectedTracerError, if `check_tracer_leaks` is on, for a tracer of an ended trace.

    The garbage collector finds the references to the tracers of a trace, so that tracing needs no
    record of them.
    """
    if not state.check_tracer_leaks:
        return
    gc.collect()
    for x in gc.get_referrers(ended):
        if isinstance(x, Tracer):
            raise UnexpectedTracerError(
                f"Leaked trace: a traced array {x.aval.long_name()} is still referenced after "
                f"{what} has ended. Leaked tracer(s): it is {x.origin()}",
                hint="return values from the function instead of storing them",
            )
