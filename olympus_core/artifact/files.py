"""Atomic file writes: the content replaces the path after it is complete.

A device or a pipe cannot be replaced, and is written to directly.
"""

from __future__ import annotations

import os
import stat
import uuid
from pathlib import Path

from olympus_core.base.errors import UsageError
from olympus_core.base.regular_files import stream_number


def write_whole(path: Path, content: str | bytes) -> None:
    """Write `content` (text as UTF-8) beside the file `path`, then replace `path` with it.

    A stream of the process, such as /dev/stderr, is written to and not replaced. The target of a
    link is replaced, and the link stays; the new file has the permissions of the old.

    Raises:
        UsageError: the folder is missing or not writable, or `path` is a folder.

    >>> write_whole(Path("report.txt"), "128 flops")
    >>> Path("report.txt").read_text()
    '128 flops'
    """
    payload = content.encode() if isinstance(content, str) else content
    try:
        mode = _mode(path)
        if (number := stream_number(path)) is not None:
            with open(os.dup(number), "wb") as stream:  # at the current position of the stream
                stream.write(payload)
        elif mode is None or stat.S_ISREG(mode):
            _replace(Path(os.path.realpath(path)), payload, mode)
        else:
            path.write_bytes(payload)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be written: {reason}") from error


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _replace(path: Path, payload: bytes, mode: int | None) -> None:
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")  # never longer than names may be
    try:
        with temporary.open("xb") as file:
            if mode is not None:  # before there is anything in it to be read
                temporary.chmod(stat.S_IMODE(mode))
            file.write(payload)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
