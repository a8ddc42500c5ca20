"""Output of a command's text or bytes, to stdout, or to a file whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import olympus
from olympus.errors import UsageError
from olympus.files import check_output
from olympus_cli.process import interrupts
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path


def check_writable(path: Path) -> None:
    """Check before the work that a file can be written at `path`.

    Raises:
        UsageError: the folder is missing or cannot be written to, the name is invalid, or `path`
            is a folder or a pipe.
    """
    try:
        check_output(path)
    except OSError as error:
        raise UsageError(f"{display_path(path)} cannot be written: {error.strerror}") from error


def emit(content: str | bytes, output: Path | None) -> None:
    """Write `content` to the file `output`, or to stdout if that is None.

    A newline is added to text that does not end with one.

    Raises:
        UsageError: the file cannot be written, or bytes would go to a terminal.
    """
    if isinstance(content, str) and not content.endswith("\n"):
        content += "\n"
    if output is not None:
        write_file(output, content)
    elif isinstance(content, str):
        console.data(content)
    elif sys.stdout.isatty():
        raise UsageError(
            "binary data is not written to a terminal", hint="write it to a file or a pipe: -o FILE"
        )
    else:
        console.raw(content)


def write_file(path: Path, content: str | bytes, *, quiet: bool = False) -> None:
    """Write a file, and report it on stderr unless `quiet`.

    Raises:
        UsageError: it cannot be written.
    """
    with interrupts.interrupts_raised():  # it removes a partial file
        olympus.artifact.write_whole(path, content)
    if not quiet:
        console.message(f"wrote {display_path(path)}")
