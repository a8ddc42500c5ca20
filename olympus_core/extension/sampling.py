"""The primitive of gamma samples, with the implementation of its keys as a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.base.avals import get_aval
from olympus_core.extension.composed import ComposedPrimitive
from olympus_core.library.lax.control import map as map_
from olympus_core.library.random.gamma import gamma_floats, loggamma_floats
from olympus_core.library.random.keys import KeyArray
from olympus_core.transforms.vmapping import vmap

_THREEFRY = "threefry2x32"


def _random_gamma(words: Any, a: Any, *, log_space: bool, impl: str = _THREEFRY) -> Any:
    """Return samples: each key is for the elements along the last dimensions of `a`."""

    def of_key(words: Any, a: Any) -> Any:
        key = words if impl == _THREEFRY else KeyArray(words, impl)
        aval = get_aval(a)
        draw = loggamma_floats if log_space else gamma_floats
        return draw(key, a, aval.shape, aval.dtype)

    function: Callable[[Any, Any], Any] = of_key
    for _ in get_aval(words).shape[:-1]:
        function = vmap(function) if impl == _THREEFRY else _one_by_one(function)
    return function(words, a)


def _one_by_one(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function of arrays of keys, which a batch would draw by its first key."""
    return lambda words, a: map_(lambda pair: function(*pair), (words, a))


class _RandomGamma(ComposedPrimitive):
    """Gamma samples, of a derivative by the parameter: bound to keys, typed or as words."""

    def bind(self, *args: Any, **params: Any) -> Any:
        key, a = args
        if key.__class__ is KeyArray:
            key, params = key.data, params | {"impl": key.impl}
        return super().bind(key, a, **params)


random_gamma_p = _RandomGamma("random_gamma", _random_gamma)
