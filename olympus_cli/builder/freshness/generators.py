"""The generators of random numbers of a process, and whether a program draws from them unseeded.

Python's `random` and NumPy's legacy functions share one generator each. A program that seeds it
first draws the same numbers in every process.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

_NUMPY = "numpy.random"
_SEEDING = frozenset({"seed", "setstate", "set_state"})
# Functions that draw nothing from the shared generator.
_NOT_DRAWING = frozenset({"getstate", "get_state", "default_rng"})


class Generators:
    """Observes the two generators; `drawn` is called at each draw from an unseeded one."""

    def __init__(self, drawn: Callable[[], None]) -> None:
        self._drawn = drawn
        self._seeded: set[str] = set()
        self._originals: list[tuple[ModuleType, str, Any]] = []
        self._is_importing = False

    def start(self) -> None:
        """Observe the generators of the modules that are imported now."""
        _current[:] = [self]
        for module in _imported():
            self._observe(module)

    def stop(self) -> None:
        """Put the functions of the modules back."""
        while self._originals:
            setattr(*self._originals.pop())

    def before_import(self, module: str) -> None:
        """Observe NumPy's generator from the import of its module on."""
        if module == _NUMPY and module not in sys.modules and not self._is_importing:
            self._is_importing = True
            self._observe(importlib.import_module(module))

    def _observe(self, module: ModuleType) -> None:
        for name, function, replacement in _replacements(module):
            self._originals.append((module, name, function))
            setattr(module, name, replacement)

    def draw(self, generator: str) -> None:
        """Note a draw from the generator of a module."""
        if generator not in self._seeded:
            self._drawn()

    def seed(self, generator: str, seed: object) -> None:
        """Note that the generator of a module is seeded; None is a seed by chance."""
        if seed is None:
            self._drawn()
        else:
            self._seeded.add(generator)


_current: list[Generators] = []  # also after its end, for a program that retains a replacement


def prepare_generators() -> None:
    """Make the replacements, which are then those of all processes forked from this one."""
    for module in _imported():
        _replacements(module)


def _imported() -> list[ModuleType]:
    return [sys.modules[name] for name in ("random", _NUMPY) if name in sys.modules]


@functools.cache
def _replacements(module: ModuleType) -> tuple[tuple[str, Any, Any], ...]:
    """Return the name of each function of a shared generator, the function, its replacement."""
    return tuple(
        (name, function, (_seeding if name in _SEEDING else _drawing)(module.__name__, function))
        for name, function in _functions(module)
    )


def _drawing(generator: str, draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement of a function that draws from a generator."""

    @functools.wraps(draw)
    def replacement(*args: Any, **options: Any) -> Any:
        _current[0].draw(generator)
        return draw(*args, **options)

    return replacement


def _seeding(generator: str, seed: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement of a function that seeds a generator."""

    @functools.wraps(seed)
    def replacement(*args: Any, **options: Any) -> Any:
        _current[0].seed(generator, next(iter((*args, *options.values())), None))
        return seed(*args, **options)

    return replacement


def _functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions of a module that use its shared generator."""
    for name in (*module.__all__, "seed"):
        function = getattr(module, name, None)
        if callable(function) and not inspect.isclass(function) and name not in _NOT_DRAWING:
            yield name, function
