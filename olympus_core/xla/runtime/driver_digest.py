"""The digest of the modules that call the compilers, for keys of stored results."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path


@functools.cache
def driver_digest() -> str:
    """Return the SHA-256 of the modules that choose the options of the compilers and call them.

    A checkout of OLYMPUS may differ from another one of the same version.

    >>> len(driver_digest())
    64
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
