"""A pause for Python's garbage collector while a program is built or read.

Tracing, lowering and reading compiler output allocate many long-lived objects: each full
collection would traverse all of them again, and the cost of an equation would grow with their
number.
"""

from __future__ import annotations

import gc


class paused:
    """A context without garbage collections; collection resumes after it if it was enabled."""

    __slots__ = ("was_on",)

    def __enter__(self) -> None:
        self.was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *exc: object) -> None:
        if self.was_on:
            gc.enable()
