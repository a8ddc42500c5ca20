"""The PJRT plugins of accelerators: libraries in packages, each loaded once in a process.

The modules `gpu` and `tpu` define the two plugins, and `absent_devices` defines the devices that
programs are compiled for without hardware.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from glob import glob
from typing import Any

from olympus_core.base.errors import BackendError
from olympus_core.xla.bindings import JaxRuntimeError, _jax
from olympus_core.xla.targets.targets import Target
from olympus_runtime.messages import clean

_lock = threading.Lock()
#: the interface of each loaded library, by the platform
loaded: dict[str, Any] = {}


@dataclass(frozen=True)
class Plugin:
    """The plugin of a backend.

    `platform` is its name in the runtime, `package` the distribution that has the library and
    `install` the command that installs it. `path` returns the library's path, or raises
    `BackendError`. `topology` returns the runtime's name and options of a target's devices.
    `environment` sets the variables that the library reads when it is loaded, and restores them.
    `device_files` are patterns of the files of the drivers' devices.
    """

    backend: str
    platform: str
    package: str
    install: str
    example: str
    path: Callable[[], str]
    topology: Callable[[Target], tuple[str, dict[str, Any]]]
    device_files: tuple[str, ...]
    environment: Callable[[], AbstractContextManager[None]] = nullcontext

    def is_attached(self) -> bool:
        """Return True if this machine has the files of a device; no library is loaded."""
        return any(glob(pattern) for pattern in self.device_files)

    def version(self) -> str | None:
        """Return the installed version of the package, or None if it is not installed."""
        return installed(self.package)

    def ensure(self) -> None:
        """Load the library, unless jax or an earlier call has.

        Raises:
          BackendError: the package is missing, or its library cannot be loaded.
        """
        what = f"the {self.backend.upper()} compiler's library cannot be loaded"
        with _lock, as_backend_error(what, self.install):
            if _jax.pjrt_plugin_loaded(self.platform):
                if self.platform not in loaded:
                    loaded[self.platform] = _interface(self.path())
                if _jax.pjrt_plugin_initialized(self.platform):
                    return
            with self.environment():
                if not _jax.pjrt_plugin_loaded(self.platform):
                    loaded[self.platform] = _jax.load_pjrt_plugin(self.platform, self.path(), None)
                if not _jax.pjrt_plugin_initialized(self.platform):
                    _jax.initialize_pjrt_plugin(self.platform)


def _interface(path: str) -> Any:
    """Return the interface of a library that jax has loaded, in the form of the runtime."""
    library = ctypes.CDLL(path)
    library.GetPjrtApi.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return capsule(library.GetPjrtApi(), b"pjrt_c_api", None)


def installed(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    from importlib import metadata

    return _read_version(metadata.version, package)


@functools.cache  # the folders of the import path are read, which may have many files
def _read_version(read: Callable[[str], str], package: str) -> str | None:
    from importlib import metadata

    try:
        return read(package)
    except metadata.PackageNotFoundError:
        return None


def library_of(package: str, file_name: str, install: str) -> str:
    """Return the path of a package's library; the package is not imported.

    Raises:
      BackendError: the package does not have it.
    """
    import os
    from importlib import metadata

    for file in metadata.files(package) or ():
        if file.name == file_name and os.path.exists(path := str(file.locate())):
            return path
    raise BackendError(
        f"the wheel {package} is damaged: it has no library: {install}", hint=install
    )


@contextlib.contextmanager
def as_backend_error(what: str, hint: str | None = None) -> Iterator[None]:
    """Raise an error of the runtime as BackendError, with `what` before its message."""
    try:
        yield
    except JaxRuntimeError as exc:
        raise BackendError(f"{what}: {clean(exc)}", hint=hint) from None
