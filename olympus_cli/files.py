"""A file appears whole or not at all: content enters, and takes its path's place at the end."""

from __future__ import annotations

import os
from pathlib import Path

from olympus.errors import UsageError

__all__ = ["write_whole"]


def write_whole(path: Path, content: str | bytes) -> None:
    """Write `content` (text as UTF-8) beside `path`, then let it replace what is there.

    Raises:
        UsageError: the folder is missing or not writable, or `path` is a folder.
    """
    payload = content.encode() if isinstance(content, str) else content
    try:
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(payload)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be written: {reason}") from error
