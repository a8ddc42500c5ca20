"""A pause for Python's garbage collector while a program is built or read.

Tracing, lowering and reading what a compiler made allocate many objects that live on: each full
collection would walk all of them again, and the cost of an equation would grow with their number.
"""

from __future__ import annotations

import gc

__all__ = ["paused"]


class paused:
    """A context without collections of cycles; they go on after it, if they went on before."""

    __slots__ = ("was_on",)

    def __enter__(self) -> None:
        self.was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *exc: object) -> None:
        if self.was_on:
            gc.enable()
