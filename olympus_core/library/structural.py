"""Structural functions: they move elements of any kind, and so apply to random keys.

Keys are mapped over the axis of their words, so the function gets arrays of the keys' shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from olympus_core.base import tree
from olympus_core.base.errors import DTypeError
from olympus_core.base.source import wraps
from olympus_core.transforms.vmapping import vmap

_F = TypeVar("_F", bound=Callable[..., Any])

#: the class of typed keys, which registers itself here, as it depends on structural functions
key_classes: Final[list[type]] = []


def structural(*positions: int, every: bool = False, some: bool = False) -> Callable[[_F], _F]:
    """Mark a function that applies to keys in the arguments at `positions` (0 if none is given).

    -1 means all arguments.  If one contains keys, all of them must.  With `every`, the function
    compares, and its result is True where it is for all words; with `some`, for any word.
    """
    places = positions or (0,)

    def wrap(fun: _F) -> _F:
        @wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            for i in places:
                if i < len(args) and args and _is_key(args[i]):
                    with_data, words = _over_words(fun, args, kwargs, places)
                    if some:
                        return words.any(-1)
                    return words.all(-1) if every else tree.map(with_data, words)
            return fun(*args, **kwargs)

        return call  # type: ignore[return-value]

    return wrap


def _is_key(x: Any) -> bool:
    """Return True if `x` is keys, or nested sequences whose first element is."""
    while x.__class__ in (list, tuple) and x:
        x = x[0]
    return x.__class__ in key_classes


def _over_words(fun: Any, args: Any, kwargs: Any, positions: tuple[int, ...]) -> Any:
    """Return the function from words to keys, and the function's results for each word."""
    operands = args if -1 in positions else [args[i] for i in positions if i < len(args)]
    operands = tree.leaves(operands, is_leaf=_is_keys)
    key_dtypes = {leaf.dtype for leaf in operands if _is_keys(leaf)}
    for leaf in operands:
        if len(key_dtypes) > 1 or not _is_keys(leaf):
            name, other = getattr(fun, "__name__", "the function"), f"{leaf!r:.80}"
            if len(key_dtypes) > 1:
                other = ", ".join(sorted(map(str, key_dtypes)))
            raise DTypeError(
                f"dtype={min(map(str, key_dtypes))} is not a valid dtype for JAX type promotion: "
                f"{name} needs all operands to be keys of one implementation, and got {other}"
            )
    leaves, treedef = tree.flatten(args, is_leaf=_is_keys)
    places = [i for i, leaf in enumerate(leaves) if _is_keys(leaf)]
    with_data, dtype = leaves[places[0]].with_data, leaves[places[0]].dtype
    requested = kwargs.get("dtype")
    if requested is not None:
        if requested != dtype:
            raise DTypeError(f"Cannot convert_element_type from {dtype} to {requested}")
        kwargs = {k: x for k, x in kwargs.items() if k != "dtype"}

    def of_one_word(*words: Any) -> Any:
        filled = list(leaves)
        for place, word in zip(places, words, strict=True):
            filled[place] = word
        return fun(*tree.unflatten(treedef, filled), **kwargs)

    data = [leaves[i].data for i in places]
    return with_data, vmap(of_one_word, in_axes=-1, out_axes=-1)(*data)


def _is_keys(x: Any) -> bool:
    return x.__class__ in key_classes
