"""The digest of the modules of a project: equal digests mean that no source file changed.

It is in no content key. If a program changed and its sources did not, it depends on another input,
such as a data file or the process that traces it.
"""

from __future__ import annotations

import hashlib
from operator import itemgetter
from pathlib import Path

from olympus.files import read_regular
from olympus_cli.faults.blame import is_users
from olympus_cli.faults.user_modules import user_modules

_MAX_BYTES = 2**24  # of a source file
_INSTALLED = frozenset(["site-packages", "dist-packages"])


def source_digest() -> str:
    """Return the SHA-256 of the names and files of the user's modules imported in this process."""
    digest = hashlib.sha256()
    for name, module in sorted(user_modules(), key=itemgetter(0)):
        file = getattr(module, "__dict__", {}).get("__file__")
        if name == "__main__" or not isinstance(file, str) or not _is_project(file):
            continue
        try:
            content = read_regular(file, _MAX_BYTES)
        except OSError:  # it was removed, or is in an archive
            content = b""
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _is_project(file: str) -> bool:
    """Return True if a file is a source file of the user, and not of an installed package."""
    return file.endswith(".py") and is_users(file) and _INSTALLED.isdisjoint(Path(file).parts)
