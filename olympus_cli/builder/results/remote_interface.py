"""The interface of a remote store, its error, and the limits of time of its requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")

#: Seconds in which a server must answer, and in which an entry must be transferred.
ANSWER_LIMIT, TRANSFER_LIMIT = 5.0, 60.0


class RemoteError(Exception):
    """Raised if a remote store fails. With `is_fatal`, another request would fail too."""

    def __init__(self, message: str, *, is_fatal: bool = False) -> None:
        super().__init__(message)
        self.is_fatal = is_fatal


class Remote(Protocol):
    """A remote store of entries by key; methods raise RemoteError."""

    def has(self, key: str) -> bool:
        """Return True if there is an entry for a key."""

    def get(self, key: str) -> bytes | None:
        """Return the entry for a key, not verified; None if there is none."""

    def put(self, key: str, content: bytes, *, replaces: bool = False) -> None:
        """Store an entry for a key; an existing one is retained, or with `replaces` replaced."""


def within(seconds: float, function: Callable[[], T]) -> T:
    """Return the result of `function`, or its error.

    Raises:
        RemoteError: it takes longer, and its thread is abandoned; or it raised a BaseException,
            which would end this process.
    """
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(function())
        except Exception as error:
            errors.append(error)
        except BaseException as error:  # such as asyncio.CancelledError, or a panic of Rust
            errors.append(RemoteError(f"its client ended with {type(error).__name__}"))

    thread = threading.Thread(target=run, name="olympus-remote", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise RemoteError(f"no answer within {seconds:g} s", is_fatal=True)
    return results[0]
