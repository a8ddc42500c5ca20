"""The options of XLA's compilers, and caches that are cleared with those of programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.errors import ArgumentError
from olympus_core.library.device import registered_caches
from olympus_core.xla.bindings import _jax


def register_backend_cache(cache: Any, for_what: str) -> None:
    """Add a cache that `clear_backends` and `clear_caches` clear too.

    It has the method `cache_clear`, as a function of `functools.lru_cache`; `for_what` names its
    purpose.  Raises ArgumentError for an object without the method.

    >>> import functools
    >>> register_backend_cache(functools.lru_cache(len), "lengths")
    """
    if not callable(getattr(cache, "cache_clear", None)):
        raise ArgumentError(f"the cache for {for_what} has no method cache_clear: {cache!r:.60}")
    registered_caches[cache] = for_what


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: dict[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """Return XLA's CompileOptions of a program for a number of replicas and of partitions.

    `device_assignment` has the device numbers by replica and partition, `env_options_overrides`
    XLA's options by name, and `fdo_profile` a profile that guides the compiler.  Raises
    ArgumentError for another number of devices.

    >>> get_compile_options(1, 2).num_partitions
    2
    """
    options = _jax.CompileOptions()
    options.num_replicas, options.num_partitions = num_replicas, num_partitions
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = num_replicas, num_partitions
    build.use_spmd_partitioning = num_partitions > 1
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    options.env_option_overrides = list((env_options_overrides or {}).items())
    if device_assignment is not None:
        options.device_assignment = _assignment(device_assignment, num_replicas, num_partitions)
    return options


def _assignment(devices: Any, num_replicas: int, num_partitions: int) -> Any:
    numbers = np.asarray(devices, np.int32)
    if numbers.size != num_replicas * num_partitions:
        raise ArgumentError(
            f"device_assignment has {numbers.size} devices for {num_replicas} replicas of "
            f"{num_partitions} partitions"
        )
    return _jax.DeviceAssignment.create(numbers.reshape(num_replicas, num_partitions))
