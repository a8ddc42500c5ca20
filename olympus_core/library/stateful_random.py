"""`StatefulPRNG`: a generator of random numbers that counts its draws in a reference."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import shape_of
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.promotion import broadcast_shapes
from olympus_core.library.random.key_functions import fold_in, key, split
from olympus_core.library.random.keys import KeyArray
from olympus_core.library.random.normal import normal
from olympus_core.library.random.uniform import randint, uniform
from olympus_core.library.refs import new_ref

Size = int | Sequence[int] | None


def _shape(size: Size, *parameters: Any) -> tuple[int, ...]:
    """Return the shape of a draw: `size`, or that of its parameters."""
    if size is None:
        return broadcast_shapes(*(shape_of(x) for x in parameters)) if parameters else ()
    try:
        return (operator.index(size),)  # type: ignore[arg-type]  # a sequence raises TypeError
    except TypeError:
        return tuple(size)  # type: ignore[arg-type]


class StatefulPRNG:
    """A generator with the methods of NumPy's `Generator`, made by `stateful_rng`.

    Each draw folds the count of the draws so far into the base key, and adds 1 to the count, which
    is a mutable reference; a generator is a tree of the two.

    >>> rng = stateful_rng(42)
    >>> rng.integers(10, size=3)
    Array([4, 9, 2], dtype=int32)
    """

    def __init__(self, _base_key: KeyArray, _counter: Any) -> None:
        self._base_key = _base_key
        self._counter = _counter

    def __repr__(self) -> str:
        return f"StatefulPRNG(_base_key={self._base_key!r}, _counter={self._counter!r})"

    def key(self, shape: int | Sequence[int] = ()) -> KeyArray:
        """Return a new key, or an array of new keys of a `shape`.

        >>> stateful_rng(42).key((2,)).shape
        (2,)
        """
        count = self._counter[...]
        found = fold_in(self._base_key, count)
        self._counter[...] = count + 1
        shape = _shape(shape)
        return split(found, shape) if shape else found

    def random(self, size: Size = None, dtype: DTypeLike = float) -> Array:
        """Draw floats from [0, 1).

        >>> stateful_rng(42).random().shape
        ()
        """
        return self.uniform(size=size, dtype=dtype)

    def uniform(
        self,
        low: ArrayLike = 0,
        high: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Draw floats from [low, high), of the shape `size` or of the bounds.

        >>> stateful_rng(42).uniform(1, 2, size=3).shape
        (3,)
        """
        shape = _shape(size, low, high)
        return uniform(self.key(), shape, dtype, low, high)

    def normal(
        self,
        loc: ArrayLike = 0,
        scale: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Draw from the normal distribution of mean `loc` and standard deviation `scale`.

        >>> stateful_rng(42).normal(size=3).shape
        (3,)
        """
        draws = normal(self.key(), _shape(size, loc, scale), dtype)
        return draws * scale + loc

    def integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        *,
        dtype: DTypeLike = int,
    ) -> Array:
        """Draw integers from [low, high), or from [0, low) without `high`.

        >>> stateful_rng(42).integers(10, size=3).shape
        (3,)
        """
        start, stop = (0, low) if high is None else (low, high)
        return randint(self.key(), _shape(size, start, stop), start, stop, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Return an array of independent generators, to map a function over.

        >>> vmap(lambda rng: rng.random())(stateful_rng(42).split(2)).shape
        (2,)
        """
        return StatefulPRNG(self.key(num), new_ref(zeros(_shape(num), int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Return a list of independent generators.

        >>> len(stateful_rng(42).spawn(2))
        2
        """
        return [StatefulPRNG(each, new_ref(0)) for each in self.key(n_children)]


def stateful_rng(seed: ArrayLike | None = None, *, impl: Any = None) -> StatefulPRNG:
    """Return a generator of random numbers with a state; None is a seed from the system.

    seed: an integer, as for `random.key`.  impl: the generator of its keys.

    Raises DTypeError for a key or an array as the seed.

    >>> rng = stateful_rng(42)
    """
    if seed is None:
        seed = secrets.randbits(31)
    return StatefulPRNG(key(seed, impl=impl), new_ref(0))


tree.register_node(
    StatefulPRNG,
    lambda rng: ((rng._base_key, rng._counter), None),
    lambda _, parts: StatefulPRNG(*parts),
)
