"""Helpers of functions of trees, under JAX's names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import ArgumentError, TransformError
from olympus_core.base.source import function_name
from olympus_core.extension.linear_util import (
    Store,
    WrappedFun,
    transformation2,
    transformation_with_aux2,
)
from olympus_core.ir.olympuspr import DebugInfo as DebugInfo


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    **_: Any,
) -> DebugInfo:
    """Return the names of a function and of the leaves of its arguments.

    >>> debug_info("jit", lambda x: x, ({"a": 1},), {}).arg_names
    ("x['a']",)
    """
    code = getattr(inspect.unwrap(fun), "__code__", None)
    place = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    try:
        bound = inspect.signature(fun).bind_partial(*args, **kwargs)
        named = [
            (name, value)
            for i, (name, value) in enumerate(bound.arguments.items())
            if i not in static_argnums and name not in static_argnames
        ]
    except (TypeError, ValueError):
        return DebugInfo(traced_for, f"{function_name(fun)}{place}", None)
    names = [
        f"{name}{tree.keystr(path)}"
        for name, value in named
        for path, _ in tree.flatten_with_path(value)[0]
    ]
    return DebugInfo(traced_for, f"{function_name(fun)}{place}", tuple(names))


def _flatten_fun(
    f: Callable[..., Any], store: Store, in_tree: tree.PyTreeDef, *leaves: Any
) -> list[Any]:
    args, kwargs = in_tree.unflatten(leaves)
    outs, out_tree = tree.flatten(f(*args, **kwargs))
    store.store(out_tree)
    return outs


def _flatten_fun_nokwargs(
    f: Callable[..., Any], store: Store, in_tree: tree.PyTreeDef, *leaves: Any
) -> list[Any]:
    outs, out_tree = tree.flatten(f(*in_tree.unflatten(leaves)))
    store.store(out_tree)
    return outs


_flat = transformation_with_aux2(_flatten_fun)
_flat_nokwargs = transformation_with_aux2(_flatten_fun_nokwargs)


def flatten_fun(f: WrappedFun, in_tree: tree.PyTreeDef) -> tuple[WrappedFun, Callable[[], Any]]:
    """Return the function of flat arguments, and a function of its result's structure.

    `in_tree` is the structure of (arguments, keyword arguments).

    >>> flat, out_tree = flatten_fun(wrap_init(f), tree_util.tree_structure((args, kwargs)))
    """
    return _flat(f, in_tree)


def flatten_fun_nokwargs(
    f: WrappedFun, in_tree: tree.PyTreeDef
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Return the function of flat arguments as `flatten_fun`, without keyword arguments.

    >>> flat, out_tree = flatten_fun_nokwargs(wrap_init(f), tree_util.tree_structure(args))
    """
    return _flat_nokwargs(f, in_tree)


class Hashable:
    """A static argument: equal to another one with an equal value."""

    __slots__ = ("val",)

    def __init__(self, val: Any) -> None:
        self.val = val

    def __hash__(self) -> int:
        return hash(self.val)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashable) and bool(self.val == other.val)


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    *,
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Return the function of the arguments `dyn_argnums`, with the others fixed, and these.

    Raises ArgumentError for another argument that is not hashable, if that is required.

    >>> f, dynamic = argnums_partial(wrap_init(lambda x, y: x + y), 0, (1, 2))
    """
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    places = [n % len(args) for n in numbers]
    fixed = {i: x for i, x in enumerate(args) if i not in places}
    if require_static_args_hashable:
        for i, x in fixed.items():
            try:
                hash(x)
            except TypeError:
                raise ArgumentError(
                    f"Non-hashable static arguments are used: argument {i} of "
                    f"'{function_name(f.f)}' is {x!r:.80}"
                ) from None

    def partial(inner: Callable[..., Any], *dynamic: Any, **kwargs: Any) -> Any:
        full = dict(fixed) | dict(zip(places, dynamic, strict=True))
        return inner(*(full[i] for i in range(len(args))), **kwargs)

    return transformation2(partial)(f), tuple(args[i] for i in places)


def donation_vector(
    donate_argnums: Sequence[int],
    donate_argnames: Sequence[str],
    in_tree: tree.PyTreeDef,
    kws: bool = True,
) -> tuple[bool, ...]:
    """Return for each leaf of the arguments if it is donated.

    `in_tree` is the structure of (arguments, keyword arguments), or without `kws` of the arguments.

    >>> donation_vector((0,), (), ox.tree_util.tree_structure(((1, (2, 3)), {"x": 4})))
    (True, False, False, False)
    """
    marks = in_tree.unflatten(range(in_tree.num_leaves))
    args, kwargs = marks if kws else (marks, {})
    result = []
    for i, arg in enumerate(args):
        result += [i in donate_argnums] * len(tree.leaves(arg))
    for name, arg in kwargs.items():
        result += [name in donate_argnames] * len(tree.leaves(arg))
    return tuple(result)


def rebase_donate_argnums(
    donate_argnums: Sequence[int], static_argnums: Sequence[int]
) -> tuple[int, ...]:
    """Return positions of donated arguments among the arguments that are not static.

    Raises ArgumentError for an argument that is both.

    >>> rebase_donate_argnums((2,), (0,))
    (1,)
    """
    both = set(donate_argnums) & set(static_argnums)
    if both:
        raise ArgumentError(
            f"static_argnums {tuple(static_argnums)} and donate_argnums {tuple(donate_argnums)} "
            "cannot intersect"
        )
    return tuple(sorted(n - sum(s < n for s in static_argnums) for n in donate_argnums))


def flatten_axes(
    name: str, treedef: tree.PyTreeDef, axis_tree: Any, *, kws: bool = False, **_: Any
) -> list[Any]:
    """Return an entry of a tree prefix for each leaf of a structure; None may be an entry.

    Raises TransformError for a tree that is not a prefix.

    >>> flatten_axes("in_axes", ox.tree_util.tree_structure((1, (2, 3))), (0, None))
    [0, None, None]
    """
    entries: list[Any] = []

    def add(entry: Any, part: Any) -> None:
        entries.extend([entry] * len(tree.leaves(part)))

    marks = treedef.unflatten(range(treedef.num_leaves))
    try:
        tree.map(add, axis_tree, marks, is_leaf=lambda x: x is None)
    except ValueError:
        raise TransformError(
            f"{name} must be a tree prefix of the corresponding value: got {axis_tree!r} for "
            f"{treedef}"
        ) from None
    return entries


def shaped_abstractify(x: Any) -> ShapedArray:
    """Return the type of an array, of a scalar, or of an object with a shape and a dtype.

    >>> shaped_abstractify(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    return get_aval(x)


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """Return the results of a function for sequences of one length.

    Raises ArgumentError for sequences of different lengths.

    >>> safe_map(lambda x, y: x + y, [1, 2], [3, 4])
    [4, 6]
    """
    lists = [list(x) for x in args]
    if len({len(x) for x in lists}) > 1:
        raise ArgumentError(f"length mismatch: {[len(x) for x in lists]}")
    return [f(*xs) for xs in zip(*lists, strict=True)]
