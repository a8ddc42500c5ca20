"""The compilers: from a StableHLO module to an executable, and from saved bytes to an executable.

A module is the MLIR bindings' object, or bytes of text, bytecode or portable StableHLO.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from olympus_bundle.host_functions import calls_python
from olympus_core.base.errors import ArtifactError
from olympus_core.mlir import bindings as mlir
from olympus_core.xla.bindings import JAXLIB_VERSION, Device, JaxRuntimeError, _jax
from olympus_core.xla.hlo.reached_collectives import DIFFERS, check_collectives_reached
from olympus_core.xla.proto.serialized import serialized_for
from olympus_core.xla.runtime import executable_cache
from olympus_core.xla.runtime.absent_compiler import compile_for
from olympus_core.xla.runtime.devices import devices
from olympus_core.xla.runtime.executable import CompileOnlyExecutable, Executable
from olympus_core.xla.runtime.executable_cache import (
    cache_folder,
    cache_key,
    read_executable,
    write_executable,
)
from olympus_core.xla.runtime.hlo_conversion import module_bytes
from olympus_core.xla.runtime.host_calls import HostCalls
from olympus_core.xla.runtime.invocation import Watch, compile_options, compiled, copying_late
from olympus_core.xla.runtime.partitioners import BOUND_CALL, partitioning
from olympus_core.xla.runtime.product_kernels import prepared
from olympus_core.xla.targets.options import Options, checked_options
from olympus_core.xla.targets.targets import Target
from olympus_runtime.cpu import ensure_lapack_for
from olympus_runtime.messages import artifact_error

# XLA splits a program's code among threads in an order that varies; unsplit, the bytes do not.
_CPU_OPTIONS: Options = {"xla_cpu_parallel_codegen_split_count": 1}
# The name of the attribute of modules whose calls are not inlined.
_INLINEABLE = b"inlineable"


def compile(
    module: Any,
    target: Target,
    options: Options | None = None,
    grid: Sequence[Device] | None = None,
    watch: Watch | None = None,
    calls: HostCalls | None = None,
    *,
    reuses_context: bool = False,
) -> Executable | CompileOnlyExecutable:
    """Compile a module for a target.

    `grid` are the devices that run it, one for each partition; by default the first device of the
    target. `watch` receives the shardings that the module inspects. `calls` are the
    Python functions that it calls: without them it is compiled, and cannot run. With them are the
    partitioners that the compiler calls.

    With `reuses_context` XLA reads a module for the CPU in the MLIR context of this process. By
    default it makes a context for each module, which takes 2 ms. No other thread may use the
    context meanwhile.

    `options` are XLA's debug options by name, as in `{"xla_cpu_enable_fast_math": True}`: those of
    `options.ALLOWED`.

    Raises:
      UsageError: an option is not allowed, or has an invalid value.
      CompileError: the compiler fails; the message is the compiler's.
      BackendError: the backend is not available; the message has the install line. Or its compiler
        calls no functions to partition operations.
      ShardingError: some devices may not reach a collective that the compiler inserts.

    Example:
      >>> compile(module, target("cpu")).execute([put(np.float32(2))])
    """
    # not the module itself: while XLA reads it another thread may add to its MLIR context
    program = module_bytes(module)
    options = checked_options(options)
    if target.backend == "cpu":
        is_partitioned = grid is not None and len(grid) > 1
        program, of_machine = prepared(module, program, is_partitioned)
        options = {**_CPU_OPTIONS, **of_machine, **options}
    partitioners = () if calls is None else calls.partitioners
    calls = _known(calls, program)
    with partitioning(program, partitioners, grid) as bound:
        executable = _compiled_for(bound, target, options, grid, watch, calls, reuses_context)
    if DIFFERS.encode() in program:
        check_collectives_reached(executable.hlo_module(), target.backend == "cpu")
    return executable


def _compiled_for(
    program: bytes,
    target: Target,
    options: Options,
    grid: Sequence[Device] | None,
    watch: Watch | None,
    calls: HostCalls | None,
    reuses_context: bool,
) -> Executable | CompileOnlyExecutable:
    if target.backend == "cpu":
        ensure_lapack_for(program)
        how = _INLINEABLE in program, reuses_context
        return _compile_and_load(program, target, options, grid, watch, calls, *how)
    if grid and target.device is None:  # the attached device of arrays
        return _compile_and_load(program, target, options, grid, watch, calls)
    return compile_for(program, target, options, grid, watch)


def _compile_and_load(
    program: bytes,
    target: Target,
    options: Options,
    grid: Sequence[Device] | None,
    watch: Watch | None,
    calls: HostCalls | None = None,
    copy_late: bool = False,
    reuses_context: bool = False,
) -> Executable:
    grid = tuple(grid or devices(target.backend)[:1])
    xla_options = compile_options(grid, options)
    if copy_late:
        xla_options = copying_late(xla_options)
    client = grid[0].client
    devices_of_it = _jax.DeviceList(grid)
    if calls is None or not calls.functions:
        # the content of a module with addresses, or with keys of functions, is not all of it
        is_whole = watch is None and BOUND_CALL not in program
        folder = cache_folder() if is_whole else None
        key = cache_key(program, target, options, grid) if folder else ""
        if folder and (known := _from_cache(folder, key, target, grid)):
            return known
        source = mlir.parsed(program) if reuses_context else program
        raw, seconds = compiled(
            lambda: client.compile_and_load(source, devices_of_it, xla_options), watch
        )
        if folder and seconds >= executable_cache.SHORTEST:
            _save(folder, key, Executable(raw, target, seconds, calls))
    else:  # the runtime takes functions with a module alone, not with its bytes
        functions, module = list(calls.functions), mlir.own_module(program)
        raw, seconds = compiled(
            lambda: client.compile_and_load(
                module, devices_of_it, xla_options, host_callbacks=functions
            ),
            watch,
        )
    return Executable(raw, target, seconds, calls)


def _from_cache(
    folder: Path, key: str, target: Target, grid: Sequence[Device]
) -> Executable | None:
    content = read_executable(folder, key)
    try:
        return None if content is None else load_executable(content, target, grid)
    except ArtifactError:  # damaged: it is compiled and written again
        return None


def _save(folder: Path, key: str, executable: Executable) -> None:
    with contextlib.suppress(ArtifactError):  # XLA cannot write some executables
        write_executable(folder, key, executable.serialize())


def load_executable(
    serialized: bytes,
    target: Target,
    grid: Sequence[Device] | None = None,
    calls: HostCalls | None = None,
) -> Executable:
    """Load an executable from the bytes of `serialize`.

    `grid` are the devices that run it, one for each partition; by default the first device of the
    target. `calls` are the Python functions that it calls: without them it cannot run.

    Raises:
      ArtifactError: the bytes are damaged, have another version or machine, or are for another
        number of devices.
      BackendError: the target's device is not available.
    """
    if target.backend == "cpu":
        ensure_lapack_for(serialized)
    grid = tuple(grid or devices(target.backend)[:1])
    count = serialized_for(serialized) if target.backend == "cpu" else None
    if count not in (None, len(grid)):  # a mismatch ends the process
        raise ArtifactError(
            f"the executable is for {count} devices, and was to be loaded on {len(grid)}"
        )
    # without options it uses the devices of its compilation, whatever its arguments' devices
    options = compile_options(grid, {}) if len(grid) > 1 else None
    try:
        raw = grid[0].client.deserialize_executable(
            serialized, _jax.DeviceList(grid), options, list(calls.functions) if calls else []
        )
    except (JaxRuntimeError, ValueError) as exc:
        raise artifact_error(exc) from None
    return Executable(raw, target, None, _known(calls, serialized))


def _known(calls: HostCalls | None, content: bytes) -> HostCalls | None:
    """Return the functions of a program with these bytes; None if it calls some and has none."""
    if not calls_python(content):
        return HostCalls()
    return calls if calls is not None and calls.functions else None


#: The attribute of a call that is not inlined, as its name and the text of its value.
NOINLINE_ATTRIBUTE = ("mhlo.frontend_attributes", '{inlineable = "false"}')

#: The prefixes of the versions of jaxlib that do not inline marked calls, as the tests check.
_TESTED_VERSIONS = ("0.10.2", "0.12.0")

_PROBE = f"""
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = call @callee(%x) {{{" = ".join(NOINLINE_ATTRIBUTE)}}} : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}}
func.func private @callee(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}}
"""


def keeps_calls(version: str = JAXLIB_VERSION) -> bool:
    """Return True if the compiler of this jaxlib does not inline marked calls.

    A version that OLYMPUS was not tested with is probed, once in a process.

    >>> keeps_calls()
    True
    """
    return version.startswith(_TESTED_VERSIONS) or probed()


@functools.cache
def probed() -> bool:
    """Return True if the compiled form of a one-call program still has the call."""
    return " call(" in compile(_PROBE.encode(), Target("cpu")).hlo_text(metadata=False)
