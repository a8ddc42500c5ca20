"""The client of the CPU, which all loaders in a process share, and its LAPACK routines."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

from olympus_bundle.errors import OlympusWarning
from olympus_runtime.bindings import _jax

_lock = threading.Lock()
_client: Any = None
_lapack_ready = False


def cpu_client(num_devices: Callable[[], int] = lambda: 1) -> Any:
    """Return the CPU runtime, started by the first call in the process.

    It has the number of devices that the `num_devices` of the first call returns.
    """
    global _client
    if _client is None:
        with _lock:
            if _client is None:
                count = num_devices()
                _client = _jax.get_tfrt_cpu_client(asynchronous=True, num_devices=count)
                if hasattr(os, "register_at_fork"):  # Unix has it
                    os.register_at_fork(before=_warn_of_threads)
    return _client


def _warn_of_threads() -> None:
    """Warn before a fork: a program that the child runs waits for threads that it does not have."""
    warnings.warn(
        "os.fork() was called, and the threads of OLYMPUS's runtime do not survive it: a child "
        'that runs programs hangs. Use multiprocessing.set_start_method("spawn")',
        OlympusWarning,
        stacklevel=2,
    )


def ensure_lapack() -> None:
    """Register LAPACK's routines with the CPU runtime: once, before a program that calls them.

    It takes about 0.2 s, because SciPy is imported to find the routines; so it is done on demand.
    Without it a program that is loaded from bytes and calls LAPACK ends the process.
    """
    global _lapack_ready
    with _lock:
        if _lapack_ready:
            return
        from jaxlib import lapack

        for platform, entries in lapack.registrations().items():
            for name, function, api_version in entries:
                _jax.register_custom_call_target(name, function, platform, api_version)
        lapack._lapack.initialize()
        _lapack_ready = True


def ensure_lapack_for(content: bytes) -> None:
    """Register LAPACK's routines if a module or an executable, in bytes, calls one of them."""
    if b"lapack_" in content:  # the name of every routine starts with it
        ensure_lapack()
