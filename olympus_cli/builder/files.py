"""The files that a build writes into a folder: in a thread of its own, while the build goes on.

They are put on the disk all together, when the last is written: one at a time takes longer.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from types import TracebackType

from olympus_cli.builder.manifest import output_file
from olympus_cli.reports.model import OutputFile

__all__ = ["Files"]


class Files:
    """The files of a folder; a context, at whose end none is being written any more.

    >>> with Files(directory) as files:
    ...     files.write("program.hlo.txt", text)
    ...     files.listed()
    (OutputFile(path='program.hlo.txt', bytes=5, sha256='...'),)
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._beside = ThreadPoolExecutor(1, "olympus-files")
        self._listed: list[Future[OutputFile]] = []

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
        """Write a file soon; names of files in a text may be none of UTF-8's."""
        self._listed.append(self._beside.submit(self._written, name, content))

    def add(self, name: str) -> None:
        """Take in a file that something else has written."""
        self._listed.append(self._beside.submit(output_file, self.directory, self.directory / name))

    def listed(self) -> tuple[OutputFile, ...]:
        """All files, in the order of their paths, when they are written.

        Raises:
            OSError: one cannot be written.
        """
        found = [each.result() for each in self._listed]
        return tuple(sorted(found, key=lambda file: PurePosixPath(file.path)))

    def _written(self, name: str, content: str | bytes) -> OutputFile:
        data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
        (self.directory / name).write_bytes(data)
        return OutputFile(name, len(data), hashlib.sha256(data).hexdigest())
