"""Functions with transformations, composed of generators: JAX's older interface.

A transformation is a generator of the transformed function's arguments. It yields the arguments
and the keyword arguments of the inner function, gets its result, and yields the outer result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.errors import ArgumentError
from olympus_core.base.source import function_name


class StoreException(ArgumentError):
    """Raised when a second value is stored, or a value is read before one is stored."""


class Store:
    """A place for one value, which a transformation stores while its function runs."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[Any] = []

    def store(self, val: Any) -> None:
        """Store the value; raise StoreException if there is one."""
        if self._values:
            raise StoreException("Store occupied")
        self._values.append(val)

    def reset(self) -> None:
        """Forget the value."""
        self._values.clear()

    @property
    def val(self) -> Any:
        """The value; raise StoreException if none is stored."""
        if not self._values:
            raise StoreException("Store empty")
        return self._values[0]

    def __bool__(self) -> bool:
        return bool(self._values)


class WrappedFun:
    """A function, its keyword parameters, and its transformations, the last one outermost."""

    def __init__(
        self,
        f: Callable[..., Any],
        f_transformed: Callable[..., Any] | None = None,
        params: dict[str, Any] | None = None,
        debug_info: Any = None,
    ) -> None:
        self.f = f
        self.params = dict(params or {})
        self.f_transformed = f_transformed or functools.partial(f, **self.params)
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return function_name(self.f)

    def wrap(self, transform: Callable[[Callable[..., Any]], Callable[..., Any]]) -> WrappedFun:
        """Return the function with one more transformation."""
        return WrappedFun(self.f, transform(self.f_transformed), self.params, self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the transformed function."""
        return self.f_transformed(*args, **kwargs)

    def with_unknown_names(self) -> WrappedFun:
        """Return the function itself: names of arguments come from signatures."""
        return self

    def __repr__(self) -> str:
        return f"Wrapped function {self.__name__}"


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """Return a function without transformations yet; `params` are keyword arguments of it.

    >>> wrap_init(lambda x, y: x + y, {"y": 1}).call_wrapped(2)
    3
    """
    return WrappedFun(f, None, params, debug_info)


def transformation2(gen: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Return a transformation by a function (inner function, *fixed arguments, *arguments).

    >>> twice = transformation2(lambda f, x: f(x) * 2)
    >>> twice(wrap_init(lambda x: x + 1)).call_wrapped(1)
    4
    """

    def transform(fun: WrappedFun, *gen_args: Any) -> WrappedFun:
        return fun.wrap(lambda f: functools.partial(gen, f, *gen_args))

    return transform


def transformation_with_aux2(
    gen: Callable[..., Any],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """Return a transformation by a function (inner function, store, *fixed arguments, *arguments).

    The transformation returns the function, and a function that returns the stored value.

    >>> @transformation_with_aux2
    ... def counted(f, store, *args):
    ...     store.store(len(args))
    ...     return f(*args)
    """

    def transform(fun: WrappedFun, *gen_args: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        wrapped = fun.wrap(lambda f: functools.partial(gen, f, store, *gen_args))
        return wrapped, lambda: store.val

    return functools.update_wrapper(transform, gen, ("__module__", "__name__", "__doc__"), ())


def _drive(gen: Any, f: Callable[..., Any]) -> Any:
    """Run a generator that yields the arguments of `f` and gets its result; return the outcome."""
    args, kwargs = next(gen)
    out = gen.send(f(*args, **kwargs))
    gen.close()
    return out


def transformation(gen: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Return a transformation by a generator (*fixed arguments, *arguments).

    >>> @transformation
    ... def doubled(x):
    ...     out = yield (x,), {}
    ...     yield out * 2
    >>> doubled(wrap_init(lambda x: x + 1)).call_wrapped(1)
    4
    """

    def run(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return _drive(gen(*args, **kwargs), f)

    return transformation2(run)


def transformation_with_aux(
    gen: Callable[..., Any],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """Return a transformation by a generator that yields (result, value to store) at the end.

    >>> @transformation_with_aux
    ... def counted(*args):
    ...     out = yield args, {}
    ...     yield out, len(args)
    """

    def run(f: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        out, aux = _drive(gen(*args, **kwargs), f)
        store.store(aux)
        return out

    return transformation_with_aux2(run)


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Return (True, the value of the first store), or (False, that of the second one).

    Exactly one of them must have a value; otherwise it raises StoreException.

    >>> is_first, value = merge_linear_aux(aux1, aux2)
    """
    values: list[tuple[bool, Any]] = []
    for first, aux in ((True, aux1), (False, aux2)):
        try:
            values.append((first, aux()))
        except StoreException:
            continue
    if len(values) != 1:
        raise StoreException("neither store occupied" if not values else "both stores occupied")
    return values[0]


def cache(call: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """Return a function (WrappedFun, *hashable arguments) whose results are kept.

    Results are kept by the function that is wrapped: another `wrap_init` of it has them too, if it
    has no transformations.

    >>> cached = cache(lambda fun, x: fun.call_wrapped(x))
    """
    known: dict[Any, Any] = {}

    @functools.wraps(call)
    def cached(fun: WrappedFun, *args: Any) -> Any:
        key = fun.f, tuple(fun.params.items()), args
        own = isinstance(fun.f_transformed, functools.partial) and fun.f_transformed.func is fun.f
        if not own:
            return call(fun, *args)
        if key not in known:
            known[key] = call(fun, *args)
        return known[key]

    cached.cache_clear = known.clear  # type: ignore[attr-defined]
    return cached


def results_of(fun: Any) -> Callable[..., Sequence[Any]]:
    """Return the flat function of a WrappedFun, or a function itself."""
    return fun.call_wrapped if isinstance(fun, WrappedFun) else fun
