"""The generators of random numbers of a process, and whether a program drew from them unseeded.

Python's `random` and NumPy's legacy functions share one generator each. A program that seeds it
first draws the same numbers in every process.
"""

from __future__ import annotations

import functools
import importlib
import random
import sys
from collections.abc import Callable
from typing import Any

_NUMPY = "numpy.random"
_UNDRAWN = 623  # the position of NumPy's Mersenne Twister before its first number


class Generators:
    """Observes the two generators; `drawn` is called at a read that depends on chance."""

    def __init__(self, drawn: Callable[[], None]) -> None:
        self._drawn = drawn
        self._seeded: set[str] = set()
        self._state = random.getstate()
        self._is_importing = False

    def before_import(self, module: str) -> None:
        """Observe NumPy's generator from the import of its module on."""
        if module == _NUMPY and module not in sys.modules and not self._is_importing:
            self._is_importing = True
            numpy_random = importlib.import_module(module)
            numpy_random.seed = self.seeding(_NUMPY, numpy_random.seed)  # type: ignore[attr-defined]

    def seeding(self, generator: str, seed: Callable[..., Any]) -> Callable[..., Any]:
        """Return a replacement of a function that seeds a generator."""

        @functools.wraps(seed)
        def replacement(*args: Any, **options: Any) -> Any:
            value = next(iter((*args, *options.values())), None)
            if value is None or (generator not in self._seeded and self._has_changed(generator)):
                self._drawn()
            if value is not None:
                self._seeded.add(generator)
            return seed(*args, **options)

        return replacement

    def were_drawn(self) -> bool:
        """Return True if a number was drawn from a generator without a seed."""
        return any(
            generator not in self._seeded and self._has_changed(generator)
            for generator in ("random", _NUMPY)
        )

    def _has_changed(self, generator: str) -> bool:
        if generator == "random":
            return random.getstate() != self._state
        legacy = sys.modules.get(f"{_NUMPY}.mtrand")
        if legacy is None:
            return False
        state = legacy._rand.get_state(legacy=False)
        return bool(state["state"]["pos"] != _UNDRAWN or state["has_gauss"])
