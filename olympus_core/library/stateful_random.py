"""Random generators with a state: a key, and a reference to the number of keys drawn from it."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import tree
from olympus_core.base.avals import Shape, canonical_shape, shape_of
from olympus_core.base.errors import ArgumentError, TransformError
from olympus_core.ir.trace import at_base
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.promotion import broadcast_shapes
from olympus_core.library.random.key_functions import fold_in, split
from olympus_core.library.random.key_functions import key as new_key
from olympus_core.library.random.keys import KeyArray, KeyDType
from olympus_core.library.random.normal import normal
from olympus_core.library.random.uniform import randint, uniform
from olympus_core.library.refs import new_ref
from olympus_core.transforms.references import Reference

Size = int | Sequence[int] | None


def _size(size: Size, *parameters: Any) -> Shape:
    """Return the shape of samples: `size`, or that of all parameters together."""
    if size is None:
        return broadcast_shapes(*map(shape_of, parameters))
    return canonical_shape(size)


@dataclasses.dataclass(frozen=True)
class StatefulPRNG:
    """A random generator whose draws change its state, as those of `numpy.random.Generator`.

    Draw number n has the key `fold_in(base_key, n)`.  A generator is a container of its key and its
    reference: it is an argument of transformed functions, and not a result; see `stateful_rng`.

    >>> rng = stateful_rng(42)
    >>> rng.uniform(), rng.uniform()
    (Array(0.5302608, ...), Array(0.72766423, ...))
    """

    _base_key: KeyArray
    _counter: Any  # a reference, or the leaf of a tree of axes or types

    def __post_init__(self) -> None:
        key, counter = self._base_key, self._counter
        if not isinstance(key, KeyArray):
            raise ArgumentError(f"Expected base_key to be a typed PRNG key; got {key}")
        if not isinstance(counter, Reference):
            raise ArgumentError(f"Expected counter to be a scalar integer ref; got {counter}")

    def key(self, shape: int | Sequence[int] = ()) -> KeyArray:
        """Return the next key, or an array of keys of a shape that are split from it.

        Raises ArgumentError for a generator of `split` that is not mapped.

        >>> stateful_rng(0).key((2, 3)).shape
        (2, 3)
        """
        if shape_of(self._base_key):
            raise ArgumentError("cannot operate on split stateful generator")
        key = fold_in(self._base_key, self._counter[...])
        self._counter[...] += 1
        sizes = _size(shape)
        return split(key, sizes) if sizes else key

    def random(self, size: Size = None, dtype: DTypeLike = float) -> Array:
        """Return floats that are uniform in [0, 1).

        >>> stateful_rng(0).random(3).shape
        (3,)
        """
        return uniform(self.key(), _size(size), dtype)

    def uniform(
        self,
        low: ArrayLike = 0,
        high: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Return floats that are uniform in [low, high), of the shape of both without `size`.

        >>> stateful_rng(0).uniform(1, 2, 3).shape
        (3,)
        """
        return uniform(self.key(), _size(size, low, high), dtype, minval=low, maxval=high)

    def normal(
        self,
        loc: ArrayLike = 0,
        scale: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Return normal floats, of the shape of the mean and the deviation without `size`.

        >>> stateful_rng(0).normal(numpy.zeros(3)).shape
        (3,)
        """
        samples = normal(self.key(), _size(size, loc, scale), dtype)
        result: Array = samples * asarray(scale, samples.dtype) + asarray(loc, samples.dtype)
        return result

    def integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        *,
        dtype: DTypeLike = int,
    ) -> Array:
        """Return integers that are uniform in [low, high), or in [0, low) without `high`.

        >>> stateful_rng(0).integers(10, size=3).shape
        (3,)
        """
        if high is None:
            low, high = 0, low
        return randint(self.key(), _size(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Return independent generators as one, for `vmap`.

        >>> vmap(lambda rng: rng.normal())(stateful_rng(0).split(3)).shape
        (3,)
        """
        return StatefulPRNG(self.key(num), new_ref(zeros(_size(num), "int32")))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Return a list of independent generators.

        >>> len(stateful_rng(0).spawn(2))
        2
        """
        return [StatefulPRNG(key, new_ref(0)) for key in self.key(n_children)]


_FIELDS = ("_base_key", "_counter")


def _with_keys(rng: StatefulPRNG) -> tuple[list[Any], tuple[()]]:
    return [(tree.GetAttrKey(name), getattr(rng, name)) for name in _FIELDS], ()


def _children(rng: StatefulPRNG) -> tuple[tuple[Any, Any], tuple[()]]:
    return (rng._base_key, rng._counter), ()


def _of_children(_: tuple[()], children: Any) -> StatefulPRNG:
    rng = object.__new__(StatefulPRNG)  # its leaves may be axes or types
    for name, child in zip(_FIELDS, children, strict=True):
        object.__setattr__(rng, name, child)
    return rng


tree.register_node(StatefulPRNG, _children, _of_children, _with_keys)


def stateful_rng(
    seed: ArrayLike | None = None, *, impl: str | KeyDType | None = None
) -> StatefulPRNG:
    """Return a generator for an integer seed; outside of transformations, it may be a random one.

    The keys of the draws are those of `olympus.random`, so a program is a function of the seed.
    Raises TypeError for a seed that is not an integer, or that lacks in a transformation.

    >>> rng = stateful_rng(42)
    >>> jit(rng.uniform)()
    Array(0.5302608, dtype=float32)
    >>> rng.uniform()
    Array(0.72766423, dtype=float32)
    """
    if seed is None:
        if not at_base():
            raise TransformError(
                "When used within transformed code, stateful_rng() requires an explicit seed to be "
                "set."
            )
        seed = np.uint32(secrets.randbits(32))
    return StatefulPRNG(new_key(seed, impl=impl), new_ref(0))
