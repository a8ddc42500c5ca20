"""The contexts of random keys, and contexts that programs define for themselves."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

from olympus_core.base.context import checked, state, switched
from olympus_core.base.errors import ArgumentError


def default_prng_impl(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, make random keys of this implementation if the call names none.

    new_val: an implementation of `random.key`; ArgumentError (a ValueError) for another value.

    >>> with default_prng_impl("rbg"):
    ...     random.key(0).dtype
    key<rbg>
    """
    return switched("default_prng_impl", checked("default_prng_impl", new_val))


def enable_custom_prng(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, make typed keys by `random.PRNGKey`, as `random.key` does.

    >>> with enable_custom_prng():
    ...     random.PRNGKey(0).dtype
    key<fry>
    """
    return switched("enable_custom_prng", checked("enable_custom_prng", new_val))


def legacy_prng_key(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, "allow" raw uint32 keys, "warn" of them, or raise an "error".

    Raises ArgumentError (a ValueError) for another value.

    >>> with legacy_prng_key("error"):
    ...     random.uniform(random.PRNGKey(0))
    Traceback (most recent call last):
      ...
    olympus.errors.ArgumentError: Legacy uint32 key array passed as key to jax.random function, ...
    """
    return switched("legacy_prng_key", checked("legacy_prng_key", new_val))


def refuse_raw_key(name: str) -> None:
    """Warn of a raw key or raise ArgumentError, by the level; `name` is the function's."""
    message = (
        f"Legacy uint32 key array passed as key to jax.random function, {name}, and "
        "jax_legacy_prng_key is "
    )
    hint = "create keys with olympus.random.key"
    if state.legacy_prng_key == "error":
        raise ArgumentError(f'{message}"error"', hint=hint)
    warnings.warn(f'{message}"warn"; {hint}', UserWarning, stacklevel=4)


class UserContext:
    """A value that a program sets in a context; functions are traced again for each value.

    Values are hashable.
    """

    def __init__(self, default_value: Any) -> None:
        self._default = default_value

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return dict(state.user_contexts).get(self, self._default)

    def __call__(self, new_value: Any) -> contextlib.AbstractContextManager[None]:
        """Return the context in which the value is `new_value`; TypeError if it has no hash."""
        hash(new_value)
        others = tuple(pair for pair in state.user_contexts if pair[0] is not self)
        pairs = others if new_value == self._default else (*others, (self, new_value))
        return switched("user_contexts", pairs)


def make_user_context(default_value: Any = None) -> UserContext:
    """Return a context with a value of the program's own, on which traced functions depend.

    >>> scale = make_user_context(1.0)
    >>> with scale(3.0):
    ...     jit(lambda x: x * scale.value)(2.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return UserContext(default_value)
