"""Locks of build folders that one process takes for its workers.

Workers that build different targets of one folder at the same time cannot each lock the folder.
They send a request to the process that started them. It takes the lock at the first request and
releases it when all workers have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

from olympus.errors import OlympusError, UsageError
from olympus.files import to_data, typed
from olympus_cli.builder.output_place import locked
from olympus_cli.faults.failure import Failure
from olympus_cli.workers.messages import Channel, Data

#: A context in which a target's folder may be replaced; the number is a time limit in seconds.
#: Raises CompileError if another build holds the lock for longer, and UsageError if the folder
#: cannot be locked.
Lock = Callable[[Path, float | None], AbstractContextManager[None]]


def own_lock(on_stage: Callable[[str], None]) -> Lock:
    """Return a lock that this process takes by itself; `on_stage` gets the stage while it waits."""

    def lock(folder: Path, time_limit: float | None) -> AbstractContextManager[None]:
        on_wait = lambda _root: on_stage("wait for another build")  # noqa: E731
        return locked(folder.parent, on_wait, time_limit=time_limit)

    return lock


def requested_lock(channel: Channel) -> Lock:
    """Return a lock that the process at the other end of `channel` takes, with `FolderLocks`."""

    @contextmanager
    def lock(folder: Path, time_limit: float | None) -> Iterator[None]:
        channel.answer([str(folder), time_limit])
        failure = channel.request()
        if failure is not None:
            error: OlympusError = typed(failure, Failure).error()
            raise error
        yield

    return lock


class FolderLocks(AbstractContextManager["FolderLocks"]):
    """The locks that workers have requested, released at the end of the context.

    `on_wait` is called with the folder if another build has its lock.
    """

    def __init__(self, on_wait: Callable[[Path], None]) -> None:
        self._on_wait = on_wait
        self._locks = ExitStack()
        self._roots = set[Path]()
        self._owners: dict[Path, str] = {}

    def answer(self, worker: str, request: Data) -> Data:
        """Lock the folder that a worker requests; return None, or the data of a failure."""
        folder, time_limit = Path(request[0]), request[1]
        try:
            owner = self._owners.setdefault(folder, worker)
            if owner != worker:
                raise UsageError(f"{folder} is the folder of target {owner!r}")
            if folder.parent not in self._roots:
                lock = locked(folder.parent, self._on_wait, time_limit=time_limit)
                self._locks.enter_context(lock)
                self._roots.add(folder.parent)
        except OlympusError as error:
            return to_data(Failure.of(error))
        return None

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._locks.close()
