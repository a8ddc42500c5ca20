"""The files that a build writes into a folder: large ones from a separate thread.

They are flushed to the disk all together, after the last is written: one at a time takes longer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from types import TracebackType

from olympus_cli.builder.manifest import output_file
from olympus_cli.reports.build_report import OutputFile

_PIECE = 1 << 20  # characters
_SMALL = 1 << 18  # bytes or characters: a thread for less takes longer than the write


class Files:
    """The files of a folder; a context that waits for unfinished writes at its end.

    >>> with Files(directory) as files:
    ...     files.write("program.hlo.txt", text)
    ...     files.listed()
    (OutputFile(path='program.hlo.txt', bytes=5, sha256='...'),)
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._beside = ThreadPoolExecutor(1, "olympus-files")
        self._writes: list[Callable[[], OutputFile]] = []

    def __enter__(self) -> Files:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._beside.shutdown(cancel_futures=True)

    def write(self, name: str, content: str | bytes) -> None:
        """Begin the write of a file. Characters that UTF-8 cannot encode are escaped."""
        write = partial(self._written, name, content)
        self._writes.append(write if len(content) < _SMALL else self._beside.submit(write).result)

    def add(self, name: str) -> None:
        """Add a file that other code has written."""
        self._writes.append(partial(output_file, self.directory, self.directory / name))

    def listed(self) -> tuple[OutputFile, ...]:
        """Finish all writes, and return the files sorted by path.

        Raises:
            OSError: one cannot be written.
        """
        files = [finish() for finish in self._writes]
        return tuple(sorted(files, key=lambda file: PurePosixPath(file.path)))

    def _written(self, name: str, content: str | bytes) -> OutputFile:
        size, digest = 0, hashlib.sha256()
        with open(self.directory / name, "wb") as file:
            for data in _encoded(content) if isinstance(content, str) else [content]:
                size += file.write(data)
                digest.update(data)
        return OutputFile(name, size, digest.hexdigest())


def _encoded(text: str) -> Iterator[bytes]:
    """Yield a text in UTF-8, in pieces, because a text with constants may be too large to copy."""
    for begin in range(0, len(text), _PIECE):
        yield text[begin : begin + _PIECE].encode(errors="backslashreplace")
