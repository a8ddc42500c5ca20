"""The remote store: results that several machines share, under the same keys as the local ones.

Two protocols are behind the interface `Remote`. `GuardedRemote` uses one so that it cannot harm a
build: a call has a limit of time, an entry is verified, and after some failures the remote store is
off for the rest of the build.
"""

from __future__ import annotations

import os
import time
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
#: Seconds that the targets of a build wait in all for slow answers, after which it is off.
WAIT_LIMIT = 60.0
#: Seconds of one request that are not counted, without an entry and with one.
_USUAL_WAIT, _USUAL_TRANSFER = 1.0, 10.0
# The first characters of the lines of a state: failures, after the second kind of which the remote
# store is off, keys of refused entries, and seconds of waiting.
_SINGLE, _FATAL, _REFUSED, _WAITED = " ", "!", "-", "+"


@dataclass
class Failures:
    """The failures of a remote store during a build, also of its other processes.

    They are lines of the file `path`; without it they are those of this process. So are the keys of
    refused entries, and the times of waiting.
    """

    path: Path | None = None
    _own: list[str] = field(default_factory=list)

    def add(self, message: str, is_fatal: bool) -> None:
        """Add a failure."""
        self._append(_FATAL if is_fatal else _SINGLE, " ".join(message.split()))

    def add_refused(self, key: str) -> None:
        """Add the key of an entry that was refused, and may be replaced."""
        self._append(_REFUSED, key)

    def has_refused(self, key: str) -> bool:
        """Return True if the entry of a key was refused."""
        return f"{_REFUSED}{key}" in self._state()

    def add_wait(self, seconds: float) -> None:
        """Add a time of waiting; the one that exceeds `WAIT_LIMIT` is a failure."""
        before = self.waited
        self._append(_WAITED, f"{seconds:.3f}")
        if before <= WAIT_LIMIT < before + seconds:
            self.add(f"its slow answers took more than {WAIT_LIMIT:g} s in all", is_fatal=True)

    @property
    def waited(self) -> float:
        """The sum of the times of waiting in seconds."""
        return sum(float(line[1:]) for line in self._state() if line.startswith(_WAITED))

    def lines(self) -> list[str]:
        """Return the failures so far, the first one first."""
        return [line for line in self._state() if line.startswith((_SINGLE, _FATAL))]

    def _append(self, kind: str, text: str) -> None:
        line = f"{kind}{text}"
        self._own.append(line)
        if self.path is not None:
            with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def _state(self) -> list[str]:
        if self.path is not None:
            with suppress(OSError):
                return self.path.read_text(encoding="utf-8").splitlines()
        return self._own

    @property
    def is_off(self) -> bool:
        """True if the remote store is not used any more."""
        lines = self.lines()
        if len(lines) >= _MOST_FAILURES or any(line.startswith(_FATAL) for line in lines):
            return True
        return self.waited > WAIT_LIMIT

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
        left = WAIT_LIMIT - self.failures.waited
        longest = min(TRANSFER_LIMIT, max(left, 0) + _USUAL_TRANSFER)
        begin = time.monotonic()
        content = self._guarded(lambda remote: remote.get(key), None, longest)
        usual = _USUAL_WAIT if content is None else _USUAL_TRANSFER
        excess = time.monotonic() - begin - usual
        if excess > 0:
            self.failures.add_wait(excess)
        return content

    def put(self, key: str, entry: Callable[[], bytes | None]) -> bool:
        """Store the result of `entry` for a key; return False after a failure.

        An existing entry is retained, unless it was refused.
        """

        def put(remote: Remote) -> bool:
            replaces = self.failures.has_refused(key)
            if (replaces or not remote.has(key)) and (content := entry()) is not None:
                remote.put(key, content, replaces=replaces)
            return True

        return not self._cache.read_only and self._guarded(put, False)

    def refuse(self, key: str, reason: str) -> None:
        """Add the failure of an entry that is damaged or not trusted."""
        self.failures.add(f"the result {key} is not used: {reason}", is_fatal=False)
        self.failures.add_refused(key)

    def _guarded(
        self, work: Callable[[Remote], T], otherwise: T, longest: float = TRANSFER_LIMIT
    ) -> T:
        if self._cache.remote is None or self.failures.is_off:
            return otherwise
        try:
            return within(longest, lambda: work(self._connected()))
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
