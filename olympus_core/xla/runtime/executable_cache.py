"""The persistent cache of executables: a folder that processes share."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from olympus_bundle.host import Host
from olympus_core.base.errors import OlympusWarning
from olympus_core.xla.bindings import JAXLIB_VERSION, Device
from olympus_core.xla.targets.targets import Target

#: The compile time, in seconds, from which an executable is saved, as in JAX.
SHORTEST = 1.0
_SUFFIX = ".executable"


class _Setting:
    """The folder that is set, and the one in use since the first compilation."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.folder: Path | None = None
        self.used: Path | None = None
        self.is_used = False


_setting = _Setting()


def set_cache_dir(path: str | os.PathLike[str] | None) -> None:
    """Set the folder of the persistent cache of executables; None for no cache.

    A program whose compilation takes a second is saved there, and another process that compiles the
    same program with the same options and jaxlib, for the same machine, loads it. The folder in use
    stays the same from the first compilation until `reset_cache`. An executable is native code: use
    a folder that only trusted users can write to.

    >>> set_cache_dir("/tmp/executables")
    >>> set_cache_dir(None)
    """
    _setting.folder = None if path is None else Path(path)


def reset_cache() -> None:
    """Stop to use the folder of the cache; the next compilation uses the one that is set.

    >>> reset_cache()
    """
    with _setting.lock:
        _setting.used, _setting.is_used = None, False


def cache_folder() -> Path | None:
    """Return the folder in use; None without a cache."""
    with _setting.lock:
        if not _setting.is_used and _setting.folder is not None:
            _setting.used, _setting.is_used = _setting.folder, True
        return _setting.used


def cache_key(
    program: bytes,
    target: Target,
    options: Mapping[str, object],
    grid: Sequence[Device],
) -> str:
    """Return the name of a program in the cache, from all that its compilation depends on."""
    places = [(d.id, d.device_kind) for d in grid]
    parts = (target, sorted(options.items()), places, JAXLIB_VERSION, Host.here())
    digest = hashlib.sha256(repr(parts).encode())
    digest.update(program)
    return digest.hexdigest()


def read_executable(folder: Path, key: str) -> bytes | None:
    """Return the bytes of a saved executable; None if it is not in the cache."""
    try:
        return (folder / f"{key}{_SUFFIX}").read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn("read", folder, error)
        return None


def write_executable(folder: Path, key: str, content: bytes) -> None:
    """Save an executable; a folder that cannot be written to gives a warning."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        os.replace(file.name, folder / f"{key}{_SUFFIX}")
    except OSError as error:
        _warn("written", folder, error)


def _warn(verb: str, folder: Path, error: OSError) -> None:
    warnings.warn(
        f"the cache of executables in {folder} cannot be {verb}: {error}",
        OlympusWarning,
        stacklevel=2,
    )
