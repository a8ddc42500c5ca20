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
#: the platform that JAX lowers for, where its name is not that of the devices
_PLATFORMS = {"gpu": "cuda"}


class JaxStages:
    """The stages of JAX for a function: `trace`, `lower` and `compile`, in this order, then calls.

    Each stage can be repeated from `trace`, which clears JAX's caches. `compile` neither reads nor
    writes JAX's persistent cache. All stages are for the first device of a backend of JAX, or for
    as many as the program needs.
    """

    def __init__(self, traced: JaxTraced, backend: str) -> None:
        self._retrace = traced.retrace
        where = traced.placement()
        self._devices = _devices(backend, 1 if where is None else where.num_devices)
        self._device = self._devices[0]
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
            if len(self._devices) == 1:
                self._stage = self._stage.lower()
            else:  # the meshes may be abstract
                platform = self._device.platform
                self._stage = self._stage.lower(
                    lowering_platforms=(_PLATFORMS.get(platform, platform),)
                )

    def compile(self) -> None:
        """Compile the lowered function."""
        with jax.default_device(self._device), _without_cache():
            self._compiled = self._compile()

    def _compile(self) -> Any:
        if len(self._devices) == 1:
            return self._stage.compile()
        try:
            try:
                return self._stage.compile(device_assignment=self._devices)
            except ValueError:  # the meshes have the devices in another order
                return self._stage.compile()
        except jax.errors.JaxRuntimeError as exc:
            raise BackendError(
                f"JAX cannot compile the program for the devices of its mesh: {exc}",
                hint="if the mesh is in the body alone, let it have devices, as that of "
                "jax.make_mesh, or give the jax.jit in_shardings",
            ) from None

    def places(self) -> list[Any]:
        """Return the device or the sharding of each argument of the compiled function."""
        if len(self._devices) == 1:
            return [self._device] * len(self._is_key)
        shardings: list[Any] = jax.tree.leaves(self._compiled.input_shardings)
        return shardings

    def put(self, array: Any, place: Any = None) -> Any:
        """Return an array at its place, or on the first device, ready for a call."""
        return jax.block_until_ready(jax.device_put(array, place or self._device))

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


def expect_jax_devices(count: int) -> None:
    """Set the number of JAX's CPU devices to at least `count`, if its CPU is not started.

    >>> olympus.interop.jax.expect_jax_devices(8)
    """
    if count > jax.config.jax_num_cpu_devices:
        with contextlib.suppress(RuntimeError):  # it is started
            jax.config.update("jax_num_cpu_devices", count)


def _devices(backend: str, count: int) -> tuple[Any, ...]:
    """Return the first `count` devices of JAX; raise BackendError if there are fewer."""
    expect_jax_devices(count if backend == "cpu" else 1)
    try:
        devices = tuple(jax.devices(backend))
    except RuntimeError as exc:
        raise BackendError(f"JAX has no device of the backend {backend}: {exc}") from None
    if len(devices) < count:
        hint = f"put JAX_NUM_CPU_DEVICES={count} before the command" if backend == "cpu" else None
        raise BackendError(
            f"JAX has {len(devices)} of the {count} devices of the backend {backend} that the "
            "program needs",
            hint=hint,
        )
    return devices[:count]


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

    `traced` is the result of `trace`. The stages have the same statics, donations and shardings. A
    CPU of JAX that is not started gets as many devices as the program needs. Raises BackendError if
    JAX does not have the devices.

    >>> stages = own_stages(trace(jax.numpy.sin, [x]))
    >>> stages.trace(), stages.lower(), stages.compile()
    """
    return JaxStages(traced, backend) if isinstance(traced, JaxTraced) else None
