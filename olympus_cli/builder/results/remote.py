"""The remote store: results that several machines share, under the same keys as the local ones.

Two protocols are behind the interface `Remote`. `GuardedRemote` uses one so that it cannot harm a
build: a call has a limit of time, an entry is verified, and after some failures the remote store is
off for the rest of the build.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from olympus_cli.builder.results.folder_remote import FolderRemote
from olympus_cli.builder.results.fsspec_remote import FsspecRemote
from olympus_cli.builder.results.redaction import redacted
from olympus_cli.builder.results.remote_interface import (
    TRANSFER_LIMIT,
    Remote,
    RemoteError,
    within,
)
from olympus_cli.spec.cache import REMOTE, CacheSpec, without_credentials

T = TypeVar("T")

_MOST_FAILURES = 3  # of single requests, after which a remote store is off
_FATAL = "!"  # the first character of the line of a failure after which it is off


@dataclass
class Failures:
    """The failures of a remote store during a build, also of its other processes.

    They are the lines of the file `path`; without it they are those of this process.
    """

    path: Path | None = None
    _own: list[str] = field(default_factory=list)

    def add(self, message: str, is_fatal: bool) -> None:
        """Add a failure."""
        line = f"{_FATAL if is_fatal else ' '}{' '.join(message.split())}"
        self._own.append(line)
        if self.path is not None:
            with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def lines(self) -> list[str]:
        """Return the failures so far, the first one first."""
        if self.path is not None:
            with suppress(OSError):
                return self.path.read_text(encoding="utf-8").splitlines()
        return self._own

    @property
    def is_off(self) -> bool:
        """True if the remote store is not used any more."""
        lines = self.lines()
        return len(lines) >= _MOST_FAILURES or any(line.startswith(_FATAL) for line in lines)

    def warning(self, url: str) -> str | None:
        """Return the warning about the failures; None without one."""
        lines = self.lines()
        if not lines:
            return None
        effect = "; it was not used for the rest of the build" if self.is_off else ""
        return f"the remote store {url}: {lines[0][1:]}{effect}"


def remote_of(cache: CacheSpec) -> Remote:
    """Return the client of the remote store of `cache`, which has one.

    Raises:
        RemoteError: a package that it needs is not installed.
    """
    assert cache.remote is not None
    url = cache.remote
    given = os.environ.get(REMOTE, "")
    if given and without_credentials(given) == url:
        url = given  # with the credentials of the environment
    scheme = urlsplit(url).scheme.lower()
    if scheme in ("http", "https"):
        from olympus_cli.builder.results.http_remote import HttpRemote  # imports email and ssl

        return HttpRemote(url)
    if scheme == "file":
        return FolderRemote(url)
    return FsspecRemote(url)


class GuardedRemote:
    """A remote store whose failures are no errors: they are added to `failures`."""

    def __init__(self, cache: CacheSpec, failures: Failures | None = None) -> None:
        self._cache = cache
        self._remote: Remote | None = None
        self.failures = failures or Failures(cache.state)

    def get(self, key: str) -> bytes | None:
        """Return the entry for a key, not verified; None if there is none, or after a failure."""
        return self._guarded(lambda remote: remote.get(key), None)

    def put(self, key: str, entry: Callable[[], bytes | None]) -> bool:
        """Store the result of `entry` for a key that has none; return False after a failure."""

        def put(remote: Remote) -> bool:
            if not remote.has(key) and (content := entry()) is not None:
                remote.put(key, content)
            return True

        return not self._cache.read_only and self._guarded(put, False)

    def refuse(self, message: str) -> None:
        """Add the failure of an entry that is damaged or not trusted."""
        self.failures.add(message, is_fatal=False)

    def _guarded(self, work: Callable[[Remote], T], otherwise: T) -> T:
        if self._cache.remote is None or self.failures.is_off:
            return otherwise
        try:
            return within(TRANSFER_LIMIT, lambda: work(self._connected()))
        except RemoteError as error:
            self.failures.add(redacted(str(error))[:300], error.is_fatal)
        except Exception as error:  # of a library: its text may have a credential in any form
            text = f"a request failed in its client with {type(error).__name__}"
            self.failures.add(text, is_fatal=False)
        return otherwise

    def _connected(self) -> Remote:
        if self._remote is None:
            self._remote = remote_of(self._cache)
        return self._remote
