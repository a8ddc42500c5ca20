"""XLA's GPU compiler, run on a machine that may have no GPU.

All it takes is one wheel, which holds the compiler; NVIDIA's libraries are not needed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olympus_core.errors import BackendError, CompileError, ShardingError, UsageError
from olympus_core.xla.compiler import compile_options, compiled
from olympus_core.xla.door import JAXLIB_VERSION, Device, JaxRuntimeError, _jax
from olympus_core.xla.executable import CompileOnlyExecutable
from olympus_core.xla.messages import clean
from olympus_core.xla.targets import Target, Topology, device_config
from olympus_core.xla.watch import Watch

__all__ = [
    "INSTALL",
    "WHEEL",
    "compile_for",
    "compile_only_devices",
    "gpu_client",
    "plugin_path",
    "plugin_version",
    "target_of",
]

WHEEL = "jax-cuda13-pjrt"
INSTALL = f'pip install "{WHEEL}=={JAXLIB_VERSION}"'
_PLATFORM = "cuda"
_lock = threading.Lock()


def plugin_version() -> str | None:
    """The installed version of the compiler's wheel; None without the wheel."""
    from importlib import metadata

    try:
        return metadata.version(WHEEL)
    except metadata.PackageNotFoundError:
        return None


def plugin_path() -> str:
    """Where the wheel's library lies; the package around it is not imported, for it imports jax.

    Raises:
      BackendError: when the wheel is missing or of another version than jaxlib's; the hint is
        the line that installs it.
    """
    version = plugin_version()
    if version is None:
        raise BackendError(
            f"compiling for a GPU needs the wheel {WHEEL}, which is not installed: {INSTALL}",
            hint=INSTALL,
        )
    if version != JAXLIB_VERSION:
        raise BackendError(
            f"{WHEEL} {version} does not go with jaxlib {JAXLIB_VERSION}: {INSTALL}", hint=INSTALL
        )
    from importlib import metadata

    for file in metadata.files(WHEEL) or ():
        if file.name == "xla_cuda_plugin.so" and os.path.exists(path := str(file.locate())):
            return path
    raise BackendError(f"the wheel {WHEEL} is damaged: it has no library: {INSTALL}", hint=INSTALL)


@contextlib.contextmanager
def _as_backend_error(what: str, hint: str | None = None) -> Iterator[None]:
    try:
        yield
    except JaxRuntimeError as exc:
        raise BackendError(f"{what}: {clean(exc)}", hint=hint) from None


def _ensure_plugin() -> None:
    """Load the compiler's library, unless jax or an earlier call has."""
    with _lock, _as_backend_error("the GPU compiler's library cannot be loaded", INSTALL):
        if not _jax.pjrt_plugin_loaded(_PLATFORM):
            _jax.load_pjrt_plugin(_PLATFORM, plugin_path(), None)
        if not _jax.pjrt_plugin_initialized(_PLATFORM):
            _jax.initialize_pjrt_plugin(_PLATFORM)


@functools.cache
def compile_only_devices(target: Target) -> tuple[Device, ...]:
    """The devices of a target's topology, which programs can be compiled for and nothing else.

    Raises:
      BackendError: when the wheel is missing; the hint is the line that installs it.
    """
    _ensure_plugin()
    hosts, per_host = target.topology or Topology()
    options = {"target_config": device_config(target), "topology": f"1x{hosts}x{per_host}"}
    with _as_backend_error(f"the GPU compiler does not take the device {target.device!r}"):
        topology = _jax.get_default_c_api_topology(_PLATFORM, "", options)
        made = tuple(topology._make_compile_only_devices())
    _targets.update(dict.fromkeys(made, target))
    return made


#: the target of each device that is not here
_targets: dict[Device, Target] = {}


def target_of(device: Device) -> Target | None:
    """The target that a device was made for; None for one that is here."""
    return _targets.get(device)


def compile_for(
    program: bytes,
    target: Target,
    options: Mapping[str, str | int | bool | float],
    grid: Sequence[Device] | None = None,
    watch: Watch | None = None,
) -> CompileOnlyExecutable:
    """Compile the bytes of a module for the GPU that `target` names, or for those of `grid`.

    `watch` is what the module asks for shardings by.

    Raises:
      BackendError: when the wheel is missing; the hint is the line that installs it.
      ShardingError: when a device of `grid` is not one of the target's topology.
      UsageError, CompileError: as `compile` does.
    """
    if device_config(target) is None:
        raise UsageError("a GPU's program is compiled for a device, and the target names none")
    if grid:
        _check_grid(grid, target)
    else:
        grid = compile_only_devices(target._replace(topology=Topology()))
    made = compile_options(grid, options)
    module = _parsed(program)
    client, devices = grid[0].client, _jax.DeviceList(tuple(grid))
    raw, seconds = compiled(lambda: client.compile(module, devices, made), watch)
    return CompileOnlyExecutable(raw, target, seconds)


def _check_grid(grid: Sequence[Device], target: Target) -> None:
    """Refuse devices of others than the target's topology: the compiler does not compare them."""
    own = {target_of(device) for device in grid}
    found = next(iter(own))
    if found is None or len(own) > 1 or device_config(found) != device_config(target):
        kinds = ", ".join(sorted({str(device.device_kind) for device in grid}))
        raise ShardingError(
            f"the program is for {target.device}, and its mesh has other devices: {kinds}",
            hint="make the mesh of topology_devices(target), or an AbstractMesh",
        )
    if target.topology not in (None, found.topology):
        raise ShardingError(
            f"the program is for the topology {target.topology}, and its mesh has devices of "
            f"{found.topology}"
        )


def _parsed(program: bytes) -> Any:
    """The bindings' object of a module, which this client takes in the place of bytes.

    It has a context of its own: while XLA reads the module nobody may add to that.
    """
    from olympus_core import mlir

    context = mlir.new_context()
    try:
        mlir.ir.Module.parse(program, context)
    except mlir.ir.MLIRError as exc:
        raise CompileError(f"the compiler failed: {exc}") from None
    # What parses is not yet StableHLO of this version: a portable artifact is converted to it.
    return _jax.mlir.deserialize_portable_artifact(program, context)


@functools.cache
def gpu_client() -> Any:
    """The runtime of the GPUs of this machine.

    Raises:
      BackendError: when there is no GPU, or the wheel is missing.
    """
    _ensure_plugin()
    with _as_backend_error("there is no GPU to run on here"):
        return _jax.get_c_api_client(_PLATFORM, {"platform_name": _PLATFORM}, None)
