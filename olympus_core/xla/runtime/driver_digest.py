"""The digest of the modules that call the compilers and read their results."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path


@functools.cache
def driver_digest() -> str:
    """Return the SHA-256 of the modules that call the compilers and read their results.

    They are `olympus_core.xla` with its tables, and `olympus_core.stages`.

    A checkout of OLYMPUS may differ from another one of the same version.

    >>> len(driver_digest())
    64
    """
    digest = hashlib.sha256()
    core = Path(__file__).parents[2]
    for path in driver_files():
        content, name = path.read_bytes(), path.relative_to(core).as_posix()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def driver_files() -> list[Path]:
    """Return the files that the digest covers, sorted.

    >>> any(path.name == "driver_digest.py" for path in driver_files())
    True
    """
    core = Path(__file__).parents[2]
    folders = (core / "xla", core / "stages")
    patterns = ("*.py", "*.toml")
    return sorted(path for folder in folders for p in patterns for path in folder.rglob(p))
