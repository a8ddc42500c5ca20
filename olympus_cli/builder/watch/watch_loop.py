"""The loop of `olympus build --watch`: build, show the result, and wait for a change."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from olympus.errors import SpecError
from olympus_cli.builder.outcome import Outcome, Status
from olympus_cli.builder.watch.built import Built
from olympus_cli.builder.watch.changes import ChangeSource
from olympus_cli.builder.watch.own_writes import OwnWrites
from olympus_cli.builder.watch.watched_files import WatchedFiles
from olympus_cli.process import interrupts
from olympus_cli.process.streams import Unwritable
from olympus_cli.spec.model import TargetSpec
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import counted, duration

_STATUSES: tuple[Status, ...] = ("built", "failed", "skipped", "fresh")


class Checks(Protocol):
    """The checks of the targets after a build."""

    def due(self, specs: Mapping[str, TargetSpec], outcomes: Sequence[Outcome]) -> list[TargetSpec]:
        """Return the targets to check."""
        ...

    def check(self, specs: Sequence[TargetSpec], verbose: bool) -> int:
        """Check targets and show the errors; return the number of failed targets."""
        ...


@dataclass(frozen=True)
class WatchOptions:
    """The options of the loop: `more` are files that the command reads, `written` its own files.

    With `checks`, the targets are checked after each build. If `quiet`, only errors are shown.
    """

    more: tuple[Path, ...] = ()
    written: tuple[Path, ...] = ()
    checks: Checks | None = None
    quiet: bool = False
    verbose: bool = False


def watch_builds(
    changes: ChangeSource,
    build: Callable[[], Built],
    finish: Callable[[Built], None],
    options: WatchOptions,
) -> None:
    """Build, and build again after each change, until Ctrl-C.

    `build` reads the project and builds it. `finish` reports and records a build, and raises the
    error of its failed targets. Errors are shown, and do not end the loop.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM came.
        UsageError: the folder of the project was removed, or the command line has a mistake.
    """
    own_writes = OwnWrites()
    is_first = True
    while True:
        start = time.perf_counter()
        built = _round(build, finish, options, is_first)
        is_first = False
        end = time.time()
        if built is not None:
            changes.watch(WatchedFiles.of(built.project, options.more, options.written))
        if not options.quiet:
            console.message(_summary(built, time.perf_counter() - start))
        _wait(changes, end, own_writes, options.quiet)


def _round(
    build: Callable[[], Built],
    finish: Callable[[Built], None],
    options: WatchOptions,
    is_first: bool,
) -> Built | None:
    """Build and check once; return None if the project cannot be read.

    An error of the first one that is not in a file of the project is raised: no saved file can
    correct it.
    """
    built = None
    try:
        built = build()
        with interrupts.deferred():  # it writes files and imports modules
            finish(built)
    except Unwritable:  # nobody reads the output
        raise
    except Exception as error:
        if is_first and built is None and not isinstance(error, SpecError):
            raise
        console.report(error, options.verbose)
    if built is not None and options.checks is not None:
        _check(built, options.checks, options)
    return built


def _check(built: Built, checks: Checks, options: WatchOptions) -> None:
    due = checks.due(built.specs, built.outcomes)
    if not due:
        return
    try:
        failed = checks.check(due, options.verbose)
    except Exception as error:
        console.report(error, options.verbose)
        return
    if not options.quiet:
        result = f"{failed} failed" if failed else "passed"
        console.message(f"checked {counted(len(due), 'target')}: {result}")


def _summary(built: Built | None, seconds: float) -> str:
    if built is None:
        return "waiting for a change; Ctrl-C ends"
    counts = Counter(outcome.status for outcome in built.outcomes)
    parts = [f"{counts[status]} {status}" for status in _STATUSES if counts[status]]
    result = ", ".join(parts) or "no target"
    return f"{result} in {duration(seconds)}; waiting for a change, Ctrl-C ends"


def _wait(changes: ChangeSource, build_end: float, own_writes: OwnWrites, quiet: bool) -> None:
    """Wait for a change that a build is needed for, and show it."""
    while True:
        paths, ignored = own_writes.others(changes.wait(build_end))
        for path in ignored:
            console.message(
                f"note: {display_path(path)} changes during each build, and starts no more builds "
                "until it changes at another time"
            )
        if paths:
            break
    if not quiet:
        console.message(f"{_names(paths)} changed")


def _names(paths: Sequence[Path]) -> str:
    """Return the names of changed files; removed ones, such as an editor's, only if all are."""
    present = [path for path in paths if path.exists()]
    first, *others = map(display_path, present or paths)
    return f"{first} and {counted(len(others), 'other file')}" if others else first
