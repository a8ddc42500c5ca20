"""The compilers: from a StableHLO module to an executable; and the loading of stored executables.

A module is the MLIR bindings' object, or bytes of text, bytecode or portable StableHLO.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.errors import ArtifactError
from olympus_core.xla.background import run_to_the_end
from olympus_core.xla.client import devices, ensure_lapack
from olympus_core.xla.door import Device, JaxRuntimeError, _jax
from olympus_core.xla.executable import CompileOnlyExecutable, Executable
from olympus_core.xla.hlo import module_bytes
from olympus_core.xla.meetings import DIFFERS, check_meetings
from olympus_core.xla.messages import artifact_error, compile_error
from olympus_core.xla.options import Options, checked_options
from olympus_core.xla.serialized import serialized_for
from olympus_core.xla.targets import Target
from olympus_core.xla.watch import Watch
from olympus_core.xla.wire import field

__all__ = ["compile", "compile_options", "copying_late", "load"]

# XLA splits a program's code among threads in an order that varies; unsplit, the bytes do not.
_CPU_OPTIONS: Options = {"xla_cpu_parallel_codegen_split_count": 1}
# Every LAPACK routine's name starts with this, in a module's and in an executable's bytes.
_LAPACK = b"lapack_"
# A module with calls that are kept has this, the name of the attribute that asks for it.
_INLINEABLE = b"inlineable"
# CompileOptionsProto.executable_build_options.debug_options.xla_backend_extra_options is a map.
_COPY_LATE = field(3, field(3, field(500, field(1, b"xla_cpu_flatten_after_fusion"))))


def compile(
    module: Any,
    target: Target,
    options: Options | None = None,
    grid: Sequence[Device] | None = None,
    watch: Watch | None = None,
) -> Executable | CompileOnlyExecutable:
    """Compile a module for a target.

    `grid` are the devices that run it, a partition each; the first one of the target unless given.
    `watch` is what the module asks for shardings by.

    `options` are XLA's debug options by name, as in `{"xla_cpu_enable_fast_math": True}`: those
    of `options.ALLOWED`.

    Raises:
      UsageError: when an option is not allowed or has a value that it does not take.
      CompileError: when the compiler fails; the message is the compiler's.
      BackendError: when the backend is not available; the message has the install line.
      ShardingError: when some devices may not come to a collective that the compiler inserts.

    Example:
      >>> compile(module, target("cpu")).execute([put(np.float32(2))])
    """
    # not the module itself: while XLA reads it another thread may add to its MLIR context
    program = module_bytes(module)
    made = _compiled_for(program, target, checked_options(options), grid, watch)
    if DIFFERS.encode() in program:
        check_meetings(made.hlo_module(), target.backend == "cpu")
    return made


def _compiled_for(
    program: bytes,
    target: Target,
    options: Options,
    grid: Sequence[Device] | None,
    watch: Watch | None,
) -> Executable | CompileOnlyExecutable:
    if target.backend == "cpu":
        if _LAPACK in program:
            ensure_lapack()
        copy_late = _INLINEABLE in program
        options = {**_CPU_OPTIONS, **options}
        return _compile_and_load(program, target, options, grid, watch, copy_late)
    if target.backend == "gpu":
        from olympus_core.xla.gpu import compile_for

        return compile_for(program, target, options, grid, watch)
    return _compile_and_load(program, target, options, grid, watch)


def _compile_and_load(
    program: bytes,
    target: Target,
    options: Options,
    grid: Sequence[Device] | None,
    watch: Watch | None,
    copy_late: bool = False,
) -> Executable:
    grid = tuple(grid or devices(target.backend)[:1])
    made = compile_options(grid, options)
    if copy_late:
        made = copying_late(made)
    client = grid[0].client
    raw, seconds = compiled(
        lambda: client.compile_and_load(program, _jax.DeviceList(grid), made), watch
    )
    return Executable(raw, target, seconds)


def compiled(work: Callable[[], Any], watch: Watch | None = None) -> tuple[Any, float]:
    """What a call of XLA's compiler gives, and the seconds that it took.

    Raises UsageError for an option that the compiler does not have, CompileError where it fails.
    """
    start = time.perf_counter()
    try:
        raw = run_to_the_end(work if watch is None else lambda: watch.during(work))
    except (JaxRuntimeError, ValueError) as exc:
        raise compile_error(exc) from None
    return raw, time.perf_counter() - start


def compile_options(grid: Sequence[Device], options: Options) -> Any:
    """XLA's options object for a program on the devices of a grid, a partition each."""
    made = _jax.CompileOptions()
    made.num_replicas = 1
    made.num_partitions = len(grid)
    made.device_assignment = _jax.DeviceAssignment.create(np.array([[d.id for d in grid]]))
    if len(grid) > 1:
        made.executable_build_options.use_spmd_partitioning = True
        made.executable_build_options.use_shardy_partitioner = True
    made.env_option_overrides = list(options.items())
    return made


def copying_late(options: Any) -> Any:
    """The options, with which a function is copied for each of its calls after it is optimized.

    XLA's compiler for CPUs copies it before it chooses layouts and fuses operations unless told,
    and does that once for each copy.  The option is an extra one of the backend, which can be set
    for one compilation in the options' serialized form alone.
    """
    _ = options.executable_build_options.debug_options  # looked at, they are those of XLA_FLAGS
    return _jax.CompileOptions.ParseFromString(options.SerializeAsString() + _COPY_LATE)


def load(serialized: bytes, target: Target, grid: Sequence[Device] | None = None) -> Executable:
    """Load what `serialize` gave.

    `grid` are the devices that run it, a partition each; the first one of the target unless given.

    Raises:
      ArtifactError: when the bytes are damaged, were made by another version or machine, or for
        another number of devices.
      BackendError: when the target's device is not here.
    """
    if target.backend == "cpu" and _LAPACK in serialized:
        ensure_lapack()
    grid = tuple(grid or devices(target.backend)[:1])
    count = serialized_for(serialized) if target.backend == "cpu" else None
    if count not in (None, len(grid)):  # which ends the process
        raise ArtifactError(
            f"the executable is for {count} devices, and was to be loaded on {len(grid)}"
        )
    # without them it keeps the devices that it was compiled for, whatever its arguments lie on
    options = compile_options(grid, {}) if len(grid) > 1 else None
    try:
        raw = grid[0].client.deserialize_executable(serialized, _jax.DeviceList(grid), options)
    except (JaxRuntimeError, ValueError) as exc:
        raise artifact_error(exc) from None
    return Executable(raw, target)
