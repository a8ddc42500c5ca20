"""The runtimes of attached GPUs and TPUs: plugins of jaxlib, loaded only if a device is present."""

from __future__ import annotations

import functools
import os
from glob import glob
from importlib import metadata
from typing import Any, NamedTuple

from olympus_bundle.errors import BackendError
from olympus_bundle.host import GPU_WHEEL, TPU_PACKAGE
from olympus_runtime.bindings import JaxRuntimeError, _jax
from olympus_runtime.messages import clean


class _Plugin(NamedTuple):
    platform: str
    package: str
    library: str
    device_files: tuple[str, ...]


#: By backend; the files are those of the devices' drivers, for NVIDIA's on Linux and under WSL.
_PLUGINS = {
    "gpu": _Plugin("cuda", GPU_WHEEL, "xla_cuda_plugin.so", ("/dev/nvidia[0-9]*", "/dev/dxg")),
    "tpu": _Plugin("tpu", TPU_PACKAGE, "libtpu.so", ("/dev/accel[0-9]*", "/dev/vfio/[0-9]*")),
}


def is_attached(backend: str) -> bool:
    """Return True if this machine has a device of a backend; no library is loaded."""
    return backend not in _PLUGINS or any(map(glob, _PLUGINS[backend].device_files))


def installed_version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def library_path(package: str, file_name: str) -> str | None:
    """Return the path of a package's library, or None; the package is not imported."""
    for file in metadata.files(package) or ():
        if file.name == file_name and os.path.exists(path := str(file.locate())):
            return path
    return None


@functools.cache
def accelerator_client(backend: str) -> Any:
    """Return the runtime of the attached GPUs or TPUs.

    Raises:
      BackendError: the package of the runtime is missing, or the device cannot be used.
    """
    plugin = _PLUGINS[backend]
    try:
        if not _jax.pjrt_plugin_loaded(plugin.platform):
            path = library_path(plugin.package, plugin.library)
            if path is None:
                raise BackendError(
                    f"the package {plugin.package} is damaged: it has no {plugin.library}"
                )
            _jax.load_pjrt_plugin(plugin.platform, path, None)
        if not _jax.pjrt_plugin_initialized(plugin.platform):
            _jax.initialize_pjrt_plugin(plugin.platform)
        options = {"platform_name": "cuda"} if backend == "gpu" else {}
        return _jax.get_c_api_client(plugin.platform, options, None)
    except JaxRuntimeError as exc:
        raise BackendError(f"the {backend.upper()} cannot be used: {clean(exc)}") from None
