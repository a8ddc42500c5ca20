"""The interface of the places where the works of a build run.

The local pool (`pool.LocalPool`) is one. Another runs works on other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from olympus_cli.workers.call import Ended
from olympus_cli.workers.messages import Data

OnTargetStage = Callable[[str, str], None]  # the name of the work, its stage


@dataclass(frozen=True)
class Work:
    """A function that can be pickled, with its arguments; `name` is unique in a run.

    `memory` is the memory in bytes that it is expected to use; None if unknown. `helper` is a
    function that an executor may run in a process for many works, and that runs no user code: see
    `helpers.py`.
    """

    name: str
    function: Callable[..., Data]
    args: tuple[object, ...]
    memory: int | None = None
    helper: Callable[..., Data] | None = None


@dataclass(frozen=True)
class Done:
    """The end of the work called `name`, after `seconds`."""

    name: str
    ended: Ended
    seconds: float = 0.0


@dataclass(frozen=True)
class Limits:
    """The limits of each work: `time` in seconds after its first stage, and `memory` in bytes.

    Work that exceeds a limit is ended, and fails with a CompileError.
    """

    time: float | None = None
    memory: int | None = None


class Executor(Protocol):
    """A place where works run, each in a process of its own.

    Example:
      >>> with closing(LocalPool(jobs=2).run(works, Limits(time=60.0), on_stage)) as running:
      ...     for done in running:
      ...         print(done.name, done.ended.failure)
    """

    @property
    def forks(self) -> bool:
        """True if the works run in processes that are forked from this one."""
        ...

    def run(
        self, works: Sequence[Work], limits: Limits, on_stage: OnTargetStage
    ) -> Generator[Done, None, None]:
        """Run works, and yield each when it has ended.

        They start in their order, except that work may wait for memory. `on_stage` gets the stages
        of each, in this process. A lost process is the failure of its work, and not an exception.
        Closing the iteration cancels all works that have not ended, and leaves no process.
        """
        ...
