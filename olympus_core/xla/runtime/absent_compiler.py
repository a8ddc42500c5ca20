"""The compilers for accelerators: they run on machines without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olympus_core.base.errors import CompileError, ShardingError, UsageError
from olympus_core.mlir import bindings as mlir
from olympus_core.xla.bindings import Device, _jax
from olympus_core.xla.runtime.absent_devices import PLUGINS, compile_only_devices, target_of
from olympus_core.xla.runtime.executable import CompileOnlyExecutable
from olympus_core.xla.runtime.invocation import Watch, compile_options, compiled
from olympus_core.xla.targets.options import optimize_options
from olympus_core.xla.targets.targets import Target, device_config, full_topology

#: XLA finds the algorithm of a convolution by trials on the GPU. Without trials a program refers to
#: none, and fails. At level 0 it takes cuDNN's first one, with jaxlib below 0.12. Only a module
#: that is compiled unchanged has convolutions.
_GPU_CONVOLUTIONS = {"xla_gpu_autotune_level": 0}


def compile_for(
    program: bytes,
    target: Target,
    options: Mapping[str, str | int | bool | float],
    grid: Sequence[Device] | None = None,
    watch: Watch | None = None,
) -> CompileOnlyExecutable:
    """Compile the bytes of a module for the device that `target` names, or for those of `grid`.

    `watch` receives the shardings that the module inspects.

    Raises:
      BackendError: the compiler is missing; the hint is the line that installs it.
      ShardingError: a device of `grid` is not in the target's topology.
      UsageError, CompileError: as `compile` does.
    """
    if device_config(target) is None:
        raise UsageError(
            f"a program for the {target.backend} is compiled for a device, and the target names "
            "none",
            hint=f"name one, such as {PLUGINS[target.backend].example}, or another of "
            "`olympus devices`",
        )
    if grid:
        _check_grid(grid, target)
    else:
        one = full_topology(target._replace(topology=None))
        grid = compile_only_devices(target._replace(topology=one))[:1]
    if target.backend == "gpu":
        profile = optimize_options("default", target)
        options = {**profile, **_convolution_options(program), **options}
    xla_options = compile_options(grid, options)
    module = _parsed(program)
    client, devices = grid[0].client, _jax.DeviceList(tuple(grid))
    raw, seconds = compiled(lambda: client.compile(module, devices, xla_options), watch)
    return CompileOnlyExecutable(raw, target, seconds)


def _convolution_options(program: bytes) -> Mapping[str, int]:
    """Return the options of a program with convolutions; empty for others."""
    if b"convolution" not in program:  # the name of a function may have it
        return {}
    module = mlir.parsed(program)
    return _GPU_CONVOLUTIONS if "stablehlo.convolution" in str(module) else {}


def _check_grid(grid: Sequence[Device], target: Target) -> None:
    """Raise ShardingError for devices outside the target's topology, which XLA does not check."""
    grid_targets = {target_of(device) for device in grid}
    grid_target = next(iter(grid_targets))
    if (
        grid_target is None
        or len(grid_targets) > 1
        or device_config(grid_target) != device_config(target)
    ):
        kinds = ", ".join(sorted({str(device.device_kind) for device in grid}))
        raise ShardingError(
            f"the program is for {target.device}, and its mesh has other devices: {kinds}",
            hint="make the mesh of topology_devices(target), or an AbstractMesh",
        )
    if target.topology not in (None, grid_target.topology):
        raise ShardingError(
            f"the program is for the topology {target.topology}, and its mesh has devices of "
            f"{grid_target.topology}"
        )


def _parsed(program: bytes) -> Any:
    """Return the bindings' object of a module, which this client needs instead of bytes.

    It has a context of its own: nothing may change the context while XLA reads the module.
    """
    context = mlir.new_context()
    try:
        mlir.ir.Module.parse(program, context)
    except mlir.ir.MLIRError as exc:
        raise CompileError(f"the compiler failed: {exc}") from None
    # A parsed module may not be StableHLO of this version: a portable artifact is converted to it.
    return _jax.mlir.deserialize_portable_artifact(program, context)
