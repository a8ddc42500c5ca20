"""A call of XLA's compiler: its options object, its errors and its time."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from olympus_core.xla.bindings import Device, JaxRuntimeError, _jax
from olympus_core.xla.messages import compile_error
from olympus_core.xla.proto.wire import field
from olympus_core.xla.runtime.background import run_to_the_end
from olympus_core.xla.targets.options import BUILD_OPTIONS, Options

# CompileOptionsProto.executable_build_options.debug_options.xla_backend_extra_options is a map.
_COPY_LATE = field(3, field(3, field(500, field(1, b"xla_cpu_flatten_after_fusion"))))


def compiled(work: Callable[[], Any], watch: Watch | None = None) -> tuple[Any, float]:
    """Call XLA's compiler, and return its result and the seconds that it took.

    Raises UsageError for an unknown compiler option, CompileError if the compiler fails.
    """
    start = time.perf_counter()
    try:
        raw = run_to_the_end(work if watch is None else lambda: watch.during(work))
    except (JaxRuntimeError, ValueError) as exc:
        raise compile_error(exc) from None
    return raw, time.perf_counter() - start


def compile_options(grid: Sequence[Device], options: Options) -> Any:
    """Return XLA's options object for a program on the devices of a grid, one per partition."""
    xla_options = _jax.CompileOptions()
    xla_options.num_replicas = 1
    xla_options.num_partitions = len(grid)
    xla_options.device_assignment = _jax.DeviceAssignment.create(np.array([[d.id for d in grid]]))
    if len(grid) > 1:
        xla_options.executable_build_options.use_spmd_partitioning = True
        xla_options.executable_build_options.use_shardy_partitioner = True
    for name in BUILD_OPTIONS:
        if name in options:
            setattr(xla_options.executable_build_options, name, options[name])
    xla_options.env_option_overrides = [x for x in options.items() if x[0] not in BUILD_OPTIONS]
    return xla_options


def copying_late(options: Any) -> Any:
    """Return the options with a function copied for each of its calls only after optimization.

    By default XLA's compiler for CPUs copies a function before it chooses layouts and fuses
    operations, and repeats this for each copy. The option is an extra one of the backend. For one
    compilation it can only be set in the options' serialized form.
    """
    # reading them sets them to those of XLA_FLAGS
    _ = options.executable_build_options.debug_options
    return _jax.CompileOptions.ParseFromString(options.SerializeAsString() + _COPY_LATE)


_T = TypeVar("_T")


class Watch:
    """The shardings of the arrays of one module that the program inspects.

    The compiler's threads only record them. `seen` has them in the order of arrival, each with the
    key of its request.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any]] = []
        self._callbacks: list[Callable[[Any], None]] = []  # the owners of the addresses

    def config(self, key: Any) -> bytes:
        """Return the `backend_config` of an `InspectSharding` with the key `key`."""
        record = functools.partial(self._record, key)
        self._callbacks.append(record)
        encoded: bytes = _jax.encode_inspect_sharding_callback(record)
        return encoded

    def _record(self, what: Any, sharding: Any) -> None:
        self.seen.append((what, sharding.to_proto()))

    def during(self, work: Callable[[], _T]) -> _T:
        """Return the result of `work()`; the addresses are valid until then."""
        return work()
