"""Where a command's text or bytes go: to a file, whole or not at all, or to stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from olympus.errors import UsageError
from olympus_cli import console
from olympus_cli.files import write_whole

__all__ = ["emit"]


def emit(content: str | bytes, output: str | None) -> None:
    """Write `content` to the file `output`, or to stdout if that is None; text ends its last line.

    Raises:
        UsageError: the file cannot be written, or bytes would go to a terminal.
    """
    if isinstance(content, str) and not content.endswith("\n"):
        content += "\n"
    if output is not None:
        write_whole(Path(output), content)
        console.say(f"wrote {output}")
    elif isinstance(content, str):
        console.data(content)
    elif sys.stdout.isatty():
        raise UsageError("bytecode is not for a terminal", hint="add -o FILE, or a pipe")
    else:
        console.raw(content)
