"""Checks of the arguments of control flow, and of what its functions return."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import Shape, ShapedArray, dimension, get_aval
from olympus_core.base.errors import (
    ConcretizationTypeError,
    DTypeError,
    ShapeError,
    TransformError,
    concrete_value_expected,
)
from olympus_core.base.source import function_name
from olympus_core.base.tree_differences import lines, listed
from olympus_core.control.bodies import Body, type_reason
from olympus_core.library.promotion import convert
from olympus_core.transforms import data


def predicate_type(pred: Any) -> ShapedArray:
    """Return the type of a predicate of `cond`; raise ShapeError or DTypeError for others."""
    if pred is None:
        raise DTypeError("cond predicate is None: it must be a scalar")
    try:
        aval = get_aval(pred)
    except DTypeError:
        raise DTypeError(
            f"Pred must be a scalar, got {pred!s:.60} of type {type(pred)}"
            if isinstance(pred, (str, tuple, list, dict))
            else f"Pred type must be either boolean or number, got {pred!s:.60}: it is the "
            "predicate of cond"
        ) from None
    if aval.shape:
        raise ShapeError(
            f"Pred must be a scalar, got {aval.long_name()} of shape {aval.shape}: it is the "
            "predicate of cond"
        )
    if dtypes.kind(aval.dtype) not in "buif":
        raise DTypeError(f"Pred type must be either boolean or number, got {aval.dtype} in cond")
    return aval


def check_callable(name: str, what: str, *functions: Any) -> None:
    """Raise TransformError unless the arguments `what` of `name` are functions."""
    for function in functions:
        if not callable(function):
            raise TransformError(
                f"lax.{name}: {what} should be callable, and one is {function!r:.60}"
            )


def check_index(index: Any) -> None:
    """Raise DTypeError unless the index of `switch` is a scalar integer."""
    try:
        aval = get_aval(index)
    except DTypeError:
        raise DTypeError(f"Index type must be an integer, got {index!s:.60}: in switch") from None
    if aval.shape:
        raise DTypeError(
            f"Branch index must be scalar, got {index!s:.60} of shape {aval.shape}: the index of "
            f"switch is {aval.long_name()}"
        )
    if dtypes.kind(aval.dtype) not in "iu":
        raise DTypeError(
            f"Index type must be an integer, got {index!s:.60} as {dtypes.long_name(aval.dtype)}: "
            "in switch"
        )


def check_branches(
    name: str, functions: Sequence[Callable[..., Any]], bodies: Sequence[Body]
) -> None:
    """Raise TransformError unless all branches return the structure and types of the first.

    `cond` passes its `false_fun` before its `true_fun`, and its message has them the other way.
    """
    is_cond = name == "cond"
    labels = ["true_fun", "false_fun"] if is_cond else [f"branch {i}" for i in range(len(bodies))]
    if is_cond:
        functions, bodies = functions[::-1], bodies[::-1]
    kind, first = ("cond" if is_cond else "switch"), bodies[0]
    for label, function, body in zip(labels[1:], functions[1:], bodies[1:], strict=True):
        named = ((labels[0], functions[0]), (label, function))
        title = "\n".join(f"{key} is '{function_name(f)}'" for key, f in named)
        if body.out_tree != first.out_tree:
            form = f"{labels[0]}{{path}} output is a {{first}} but {label} output is a {{second}}"
            raise TransformError(
                f"{kind} branch outputs must have the same pytree structure, but they differ:\n\n"
                f"{title}\n\n" + lines(first.out_tree, body.out_tree, form)
            )
        types = zip(data.paths(first.out_tree), first.out_avals, body.out_avals, strict=True)
        mismatches = [
            f"the output of {labels[0]}{f' at path {tree.keystr(path)}' * bool(path)} has type "
            f"{a.long_name()} but the corresponding output of {label} has type {b.long_name()}, so "
            f"{type_reason(a, b)}"
            for path, a, b in types
            if not a.strip_weak().is_same_as(b.strip_weak())
        ]
        if mismatches:
            raise TransformError(
                f"{kind} branches must have equal output types but they differ.\n\n{title}\n\n"
                + listed(mismatches)
            )


def check_unroll(name: str, unroll: Any) -> None:
    """Raise TransformError unless `unroll` is a bool or a count."""
    if not hasattr(unroll, "__index__") or operator.index(unroll) < 0:
        raise TransformError(
            f"`unroll` must be a `bool` or a non-negative `int`, and is {unroll!r:.60} in {name}"
        )


def scan_length(x_leaves: list[Any], xs_tree: tree.PyTreeDef, length: int | None) -> int:
    """Return the length of a loop over the leading axes of arrays; raise ShapeError for others."""
    words = data.word_axes(xs_tree.unflatten(x_leaves), x_leaves)
    shapes = [get_aval(x).shape for x in x_leaves]
    shapes = [s[: len(s) - w] for s, w in zip(shapes, words, strict=True)]
    for path, x, shape in zip(data.paths(xs_tree), x_leaves, shapes, strict=True):
        if not shape:
            raise ShapeError(
                f"scan got value with no leading axis to scan over: {x!s:.60}: it is "
                f"xs{tree.keystr(path)}"
            )
    lengths: dict[int, None] = {s[0]: None for s in shapes}
    if len(lengths) > 1:
        raise ShapeError(
            "scan got values with different leading axis sizes: "
            f"{', '.join(str(s[0]) for s in shapes)}: {_lengths_text(xs_tree, shapes)}"
        )
    if length is not None:
        count: int = _length(length)
        if lengths and count not in lengths:
            raise ShapeError(
                f"scan got `length` argument of {count} which disagrees with leading axis sizes "
                f"{[s[0] for s in shapes]}: {_lengths_text(xs_tree, shapes)}"
            )
        return count
    if not lengths:
        raise TransformError("scan got no values to scan over and `length` not provided")
    return next(iter(lengths))


def _lengths_text(xs_tree: tree.PyTreeDef, shapes: Sequence[Shape]) -> str:
    paths = data.paths(xs_tree)
    rows = zip(paths, shapes, strict=True)
    return ", ".join(f"xs{tree.keystr(p)} has {s[0]}" for p, s in rows)


def _length(length: Any) -> Any:
    """Return the `length` of a scan as an int; raise ConcretizationTypeError for a traced one."""
    try:
        return dimension(length)
    except ConcretizationTypeError as error:
        raise concrete_value_expected(
            f"the `length` argument to `scan` expects a concrete `int` value. {error}",
            hint=error.hint,
            location=error.location,
        ) from None


def loop_bounds(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return the bounds of a loop in one dtype: a weakly typed integer takes that of the other."""
    first, last = get_aval(lower), get_aval(upper)
    if first.dtype == last.dtype:
        return lower, upper
    kinds = {dtypes.kind(first.dtype), dtypes.kind(last.dtype)}
    if first.weak_type == last.weak_type or kinds != {"i"}:
        raise DTypeError(
            "lower and upper arguments to fori_loop must have equal types, got "
            f"{dtypes.long_name(first.dtype)} and {dtypes.long_name(last.dtype)}"
        )
    dtype = last.dtype if first.weak_type else first.dtype
    return convert(lower, dtype), convert(upper, dtype)
