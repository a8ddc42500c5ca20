"""Messages on calls of a function of `jit` that trace it, with the nearest call that did before."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from olympus_core.base import source, tree_differences
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import SURROUNDINGS

#: the places of calls that traced a function for the first time
_first_calls: set[str] = set()
_WEAK_TYPES = "https://docs.jax.dev/en/latest/type_promotion.html#weak-types"


def message(fun: Callable[..., Any], names: Sequence[str], key: Any, keys: Iterable[Any]) -> str:
    """Return the message on a call with `key`, of a function that was traced for `keys`.

    `names` are those of the arguments.  A key is what the cache of `jit` has: the tree of the
    arguments, their types, the static arguments and the surroundings.
    """
    position = source.current_location().position()
    call = "an unknown line"
    if position is not None:
        call = f"{position}:{position.column - 1} ({position.function})"
    name, place = source.function_name(fun), _definition(fun)
    lines = [f"TRACING CACHE MISS at {call}:"]
    differences = [_difference(names, key, other) for other in keys]
    if differences:
        lines.append(f"  for {name}{place}")
        lines.append("  all previously seen cache keys differ. For the closest previous key:")
        lines.append(f"  {min(differences)[2]}")
        return "\n".join(lines)
    lines.append(f"  never seen function:\n    {name} id={id(fun)}{place}")
    if call in _first_calls:
        lines.append(
            "  but seen another function defined on the same line; maybe the function is\n"
            "  being re-defined repeatedly, preventing caching?"
        )
    _first_calls.add(call)
    return "\n".join(lines)


def _definition(fun: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(fun), "__code__", None)
    return "" if code is None else f" defined at {code.co_filename}:{code.co_firstlineno}"


def _difference(names: Sequence[str], key: Any, other: Any) -> tuple[int, int, str]:
    """Return the rank of a difference of two keys, the number of its parts, and its text."""
    in_tree, avals, static, surroundings = key
    other_tree, other_avals, other_static, other_surroundings = other
    if surroundings != other_surroundings:
        named = ("argument_mesh", *SURROUNDINGS)
        pairs = zip(named, surroundings, other_surroundings, strict=True)
        lines = [
            f"  * jax_{n} differs: now {new} and before {old}"
            for n, new, old in pairs
            if new != old
        ]
        title = "Tracing context doesn't match, e.g. due to config or context manager."
        return 0, len(lines), "\n".join([title, *lines])
    lines = [
        f"  * at input path {d.path}, now {d.first} and before {d.second}, so {d.reason}"
        for d in tree_differences.differences(in_tree, other_tree)
    ]
    if static != other_static:
        lines.append("  * at the static arguments, whose values differ")
    if lines:
        return 1, len(lines), "\n".join(["different input pytree:", *lines])
    lines = [
        f"  * at {name}, {_types(new, old)}"
        for name, new, old in zip(names, avals, other_avals, strict=True)
        if new != old
    ]
    weak = [a.weak_type for a in avals] != [a.weak_type for a in other_avals]
    hint = f"\n  weak types: {_WEAK_TYPES}" if weak else ""
    return 3, len(lines), "\n".join(["different input types:", *lines]) + hint


def _types(new: ShapedArray, old: ShapedArray) -> str:
    if new.weak_type == old.weak_type:
        return f"now {new.short_name()} and before {old.short_name()}"
    now, before = (f"{a.short_name()}{{weak_type={a.weak_type}}}" for a in (new, old))
    return f"now {now} and before {before}"
