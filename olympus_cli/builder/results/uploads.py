"""The upload of new results to the remote store, beside a build.

A process of its own uploads one result after the other, so that no target waits. It gets the next
key when it has finished the last. At the end the build waits for it, up to a limit.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from olympus.errors import CompileError, OlympusError
from olympus_cli.builder.plan import Task
from olympus_cli.builder.results.compiling import local_store
from olympus_cli.builder.results.entry import decoded, signed_entry
from olympus_cli.builder.results.local import LocalStore
from olympus_cli.builder.results.remote import Failures, GuardedRemote
from olympus_cli.reports.build_report import Report
from olympus_cli.spec.cache import CacheSpec, environment_cache
from olympus_cli.text.units import counted
from olympus_cli.workers.call import Isolated, wait
from olympus_cli.workers.messages import Channel

#: Seconds that a build waits at its end for uploads.
END_LIMIT = 10.0
#: The variable with the path of a private key, which signs uploaded results.
SIGN_KEY = "OLYMPUS_REMOTE_CACHE_SIGN_KEY"


class Uploads:
    """The uploads of a build to the remote store of `cache`."""

    def __init__(self, cache: CacheSpec) -> None:
        self._cache = cache
        self._waiting: deque[str] = deque()
        self._process: Isolated | None = None
        self._is_busy = False
        self._has_ended = False

    def add(self, report: Report) -> None:
        """Upload the results that a build has compiled, if the remote store may be written."""
        if self._cache.read_only or self._cache.remote is None:
            return
        for backend in report.backends:
            if backend.result.source == "compiled" and backend.result.key is not None:
                self._waiting.append(backend.result.key)
        self._continue()

    def finish(self, limit: float) -> int:
        """Wait for the uploads, at most `limit` seconds; return the number of unfinished ones."""
        deadline = time.monotonic() + limit
        while (self._waiting or self._is_busy) and not self._has_ended:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self._continue()
            if self._process is not None and self._is_busy:
                wait([self._process], left)
        return 0 if self._has_ended else len(self._waiting) + self._is_busy

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()

    def _continue(self) -> None:
        """Send the next key if the process is free; start the process at the first one."""
        if self._has_ended:
            return
        if self._process is None and self._waiting:
            try:
                self._process = Isolated(_upload, self._cache, action="uploads", quiet=True)
            except CompileError:  # the system has no process left
                self._has_ended = True
                return
        if self._process is None:
            return
        self._has_ended = self._process.look() is not None
        if self._process.answers:
            self._process.answers.clear()
            self._is_busy = False
        if self._waiting and not self._is_busy and not self._has_ended:
            self._process.send(self._waiting.popleft())
            self._is_busy = True


def _upload(channel: Channel, cache: CacheSpec) -> None:
    """Upload the results of the keys that arrive, one by one, until this process is ended."""
    store = local_store(cache)
    assert store is not None
    remote = GuardedRemote(cache)
    while True:
        key = channel.request()
        remote.put(key, lambda key=key: entry_to_upload(store, key, remote))  # type: ignore[misc]
        channel.answer(None)


def entry_to_upload(store: LocalStore, key: str, remote: GuardedRemote) -> bytes | None:
    """Return the verified entry of a key, signed if a private key is configured.

    It is None, with a failure of `remote`, if the entry is damaged or cannot be signed, or if it
    would replace an entry that was refused, and would be refused too.
    """
    content = store.content(key)
    if content is None:
        return None
    try:
        decoded(content, key)
    except OlympusError as error:
        remote.failures.add(f"the result {key} is not uploaded: {error}", is_fatal=False)
        return None
    if private := os.environ.get(SIGN_KEY):
        try:
            content = signed_entry(content, Path(private))
        except OlympusError as error:
            remote.failures.add(f"the results cannot be signed: {error}", is_fatal=True)
            return None
    if remote.failures.has_refused(key):
        try:
            decoded(content, key, store.trust)
        except OlympusError:  # as its readers would; the failure is known
            return None
    return content


@contextmanager
def uploading(
    tasks: Mapping[str, Task], on_warning: Callable[[str], None], *, is_on: bool
) -> Iterator[tuple[dict[str, Task], Uploads]]:
    """A context with the tasks of a build and the uploads of its results.

    In the context the tasks share the failures of the remote store. At its end the build waits for
    the uploads, and `on_warning` gets at most one warning about the remote store.
    """
    cache = _cache_of(task.spec.cache for task in tasks.values()) if is_on else CacheSpec()
    url = cache.remote
    if url is None:
        yield dict(tasks), Uploads(cache)
        return
    folder, problem = _state_folder()
    if folder is None:
        cache = replace(cache, remote=None)
        yield _with_cache(tasks, cache), Uploads(cache)
        on_warning(f"the remote store {url} was not used: {problem}")
        return
    with folder as path:
        cache = replace(cache, state=Path(path) / "failures")
        with closing(Uploads(cache)) as uploads:
            yield _with_cache(tasks, cache), uploads
            unfinished = uploads.finish(END_LIMIT)
        warning = Failures(cache.state).warning(url)
        if warning is None and unfinished:
            late = counted(unfinished, "result")
            warning = f"the remote store {url}: {late} not uploaded in {END_LIMIT:g} s"
        if warning is not None:
            on_warning(warning)


def _state_folder() -> tuple[TemporaryDirectory[str] | None, str]:
    """Return a new folder for the state of a remote store; None, with the reason, without one."""
    try:
        return TemporaryDirectory(prefix="olympus-remote-", ignore_cleanup_errors=True), ""
    except OSError as error:
        return None, f"a temporary folder cannot be created: {error.strerror or error}"


def _with_cache(tasks: Mapping[str, Task], cache: CacheSpec) -> dict[str, Task]:
    """Return tasks with other stores."""
    specs = {name: replace(task.spec, cache=cache) for name, task in tasks.items()}
    return {name: replace(task, spec=specs[name]) for name, task in tasks.items()}


def _cache_of(caches: Iterable[CacheSpec | None]) -> CacheSpec:
    """Return the stores of a build, which all its targets have."""
    for cache in caches:
        return cache or environment_cache()
    return CacheSpec()
