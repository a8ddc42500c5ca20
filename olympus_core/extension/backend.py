"""The runtime of a platform, under JAX's names."""

from __future__ import annotations

from typing import Any

from olympus_core import xla
from olympus_core.library.device import clear_caches
from olympus_core.xla.bindings import _jax

#: the class of the clients of runtimes
Backend = _jax.Client


def get_backend(platform: str | None = None) -> Any:
    """Return the runtime's client of a platform (default "cpu"); raise BackendError if absent.

    >>> get_backend().platform
    'cpu'
    """
    if platform is not None and not isinstance(platform, str):
        return platform
    return xla.devices(platform)[0].client


def backends() -> dict[str, Any]:
    """Return the clients of this process by platform.

    >>> list(backends())
    ['cpu']
    """
    return {"cpu": get_backend("cpu")}


def get_default_device() -> Any:
    """Return the device of arrays that are not put on another one.

    >>> get_default_device() == devices()[0]
    True
    """
    return xla.devices(None)[0]


def clear_backends(_crash: bool = False) -> None:
    """Forget all compiled programs, as `clear_caches` does; the runtimes stay.

    >>> clear_backends()
    """
    clear_caches()


def clear_in_memory_compilation_cache() -> None:
    """Forget all compiled programs, as `clear_caches` does.

    >>> clear_in_memory_compilation_cache()
    """
    clear_caches()


def backend_xla_version(platform: str | None = None) -> int | None:
    """Return the version of the interface of a platform's plugin; None for the CPU.

    >>> backend_xla_version()
    """
    version: int | None = getattr(get_backend(platform), "xla_version", None)
    return version
