"""JAX's own stages of a function that OLYMPUS has traced, for a comparison of the two."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from olympus_core.base.errors import BackendError
from olympus_core.interop.jax_modules import jax
from olympus_core.interop.jax_tracing import JaxTraced
from olympus_core.stages.stages import Traced

_CACHE = "jax_enable_compilation_cache"


class JaxStages:
    """The stages of JAX for a function: `trace`, `lower` and `compile`, in this order, then calls.

    Each stage can be repeated from `trace`, which clears JAX's caches. `compile` neither reads nor
    writes JAX's persistent cache. All stages are for the first device of a backend of JAX.
    """

    def __init__(self, traced: JaxTraced, backend: str) -> None:
        self._retrace = traced.retrace
        try:
            self._device = jax.devices(backend)[0]
        except RuntimeError as exc:
            raise BackendError(f"JAX has no device of the backend {backend}: {exc}") from None
        self._stage: Any = None
        self._compiled: Any = None
        self._tree: Any = None
        self._is_key: list[Any] = []

    def trace(self) -> None:
        """Trace the function with JAX."""
        clear_jax_caches()
        with jax.default_device(self._device):
            self._stage = self._retrace()
        leaves, self._tree = jax.tree.flatten(self._stage.in_avals)
        self._is_key = [jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) for x in leaves]

    def lower(self) -> None:
        """Lower the traced function."""
        with jax.default_device(self._device):
            self._stage = self._stage.lower()

    def compile(self) -> None:
        """Compile the lowered function."""
        with jax.default_device(self._device), _without_cache():
            self._compiled = self._stage.compile()

    def put(self, array: Any) -> Any:
        """Return an array on the device, ready for a call."""
        return jax.block_until_ready(jax.device_put(array, self._device))

    def bind(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call, from one array for each argument in flattened order."""
        pairs = zip(arrays, self._is_key, strict=True)
        leaves = [jax.random.wrap_key_data(x) if is_key else x for x, is_key in pairs]
        args, kwargs = jax.tree.unflatten(self._tree, leaves)
        return args, kwargs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function; the results may not be ready yet."""
        return self._compiled(*args, **kwargs)

    @staticmethod
    def wait(results: Any) -> Any:
        """Wait until results are ready, and return them."""
        return jax.block_until_ready(results)


@contextlib.contextmanager
def _without_cache() -> Iterator[None]:
    """Disable JAX's persistent cache of compilations."""
    before = getattr(jax.config, _CACHE)
    jax.config.update(_CACHE, False)
    try:
        yield
    finally:
        jax.config.update(_CACHE, before)


def clear_jax_caches() -> None:
    """Clear JAX's caches, so that the next `trace` of a function traces all of it.

    >>> clear_jax_caches()
    """
    jax.clear_caches()


def own_stages(traced: Traced, backend: str = "cpu") -> JaxStages | None:
    """Return JAX's own stages of a function; None if JAX has not traced it.

    `traced` is the result of `trace`. The stages have the same statics and donations. Raises
    BackendError if JAX has no device of the backend.

    >>> stages = own_stages(trace(jax.numpy.sin, [x]))
    >>> stages.trace(), stages.lower(), stages.compile()
    """
    return JaxStages(traced, backend) if isinstance(traced, JaxTraced) else None
