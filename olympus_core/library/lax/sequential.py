"""`sequential_vmap`: a function that a `vmap` runs in a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from olympus_core.base import tree
from olympus_core.control.custom_vmap import custom_vmap
from olympus_core.library.lax.control import map as lax_map
from olympus_core.transforms import data

_P = ParamSpec("_P")
_R = TypeVar("_R")


def sequential_vmap(f: Callable[_P, _R]) -> custom_vmap[_P, _R]:
    """Return a function that a `vmap` runs in a loop, once for each of the values.

    >>> vmap(sequential_vmap(lambda x: x + 1))(arange(3))
    Array([1, 2, 3], dtype=int32)
    """
    wrapped: Any = custom_vmap(f)

    def rule(size: int, mapped: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, in_tree = data.flatten_data(list(args))
        flags = tree.flatten(mapped)[0]

        def each(values: list[Any]) -> Any:
            rest = iter(values)
            full = [next(rest) if m else x for x, m in zip(leaves, flags, strict=True)]
            return wrapped(*in_tree.unflatten(full))

        values = [x for x, m in zip(leaves, flags, strict=True) if m]
        out = lax_map(each, values)
        return out, tree.map(lambda _: True, out)

    wrapped.def_vmap(rule)
    wrapped.is_only = True
    result: custom_vmap[_P, _R] = wrapped
    return result
