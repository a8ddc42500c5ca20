"""The files that a build writes into a folder: in threads of its own, while the build goes on.

Each is written, digested and put on the disk there, which mostly waits.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from types import TracebackType

from olympus_cli.builder.durable import sync_file
from olympus_cli.builder.manifest import output_file
from olympus_cli.reports.model import OutputFile

__all__ = ["Files"]


class Files:
    """The files of a folder; a context, at whose end all are on the disk, but for the names.

    Its end raises OSError where one cannot be put there.

    >>> with Files(directory) as files:
    ...     files.write("program.hlo.txt", text)
    ...     files.listed()
    (OutputFile(path='program.hlo.txt', bytes=5, sha256='...'),)
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._beside = ThreadPoolExecutor(2, "olympus-files")
        self._listed: list[Future[OutputFile]] = []
        self._synced: list[Future[None]] = []

    def __enter__(self) -> Files:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._beside.shutdown(cancel_futures=error is not None)
        if error is None:
            for each in self._synced:
                each.result()

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file soon; names of files in a text may be none of UTF-8's."""
        self._listed.append(self._beside.submit(self._written, name, content))

    def add(self, name: str) -> None:
        """Take in a file that something else has written."""
        self._listed.append(self._beside.submit(self._found, name))

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
        self._sync(name)
        return OutputFile(name, len(data), hashlib.sha256(data).hexdigest())

    def _found(self, name: str) -> OutputFile:
        self._sync(name)
        return output_file(self.directory, self.directory / name)

    def _sync(self, name: str) -> None:
        """Put a file on the disk soon; nobody waits for it but the end."""
        self._synced.append(self._beside.submit(sync_file, self.directory / name))
