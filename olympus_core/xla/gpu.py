"""XLA's GPU compiler, run on a machine that may have no GPU.

All it takes is one wheel, which holds the compiler; NVIDIA's libraries are not needed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from olympus_core.errors import BackendError, CompileError, UsageError
from olympus_core.xla.compiler import compile_options, compiled
from olympus_core.xla.door import JAXLIB_VERSION, JaxRuntimeError, _jax
from olympus_core.xla.executable import CompileOnlyExecutable
from olympus_core.xla.messages import clean
from olympus_core.xla.targets import Target, device_config

__all__ = ["INSTALL", "WHEEL", "compile_for", "gpu_client", "plugin_path", "plugin_version"]

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
def _device(name: str, config: str) -> Any:
    """A device that programs can be compiled for and nothing else."""
    _ensure_plugin()
    options = {"target_config": config, "topology": "1x1x1"}
    with _as_backend_error(f"the GPU compiler does not take the device {name!r}"):
        topology = _jax.get_default_c_api_topology(_PLATFORM, "", options)
        return topology._make_compile_only_devices()[0]


def compile_for(
    program: bytes, target: Target, options: Mapping[str, str | int | bool | float]
) -> CompileOnlyExecutable:
    """Compile the bytes of a module for the GPU that `target` names.

    Raises:
      BackendError: when the wheel is missing; the hint is the line that installs it.
      UsageError, CompileError: as `compile` does.
    """
    config = device_config(target)
    if config is None:
        raise UsageError("a GPU's program is compiled for a device, and the target names none")
    device = _device(str(target.device), config)
    made = compile_options((device,), options)
    module = _parsed(program)
    raw, seconds = compiled(lambda: device.client.compile(module, _jax.DeviceList((device,)), made))
    return CompileOnlyExecutable(raw, target, seconds)


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
