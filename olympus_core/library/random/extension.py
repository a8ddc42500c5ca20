"""The implementations of random keys, and their hash, for extensions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from olympus_core.base.avals import Shape, canonical_shape, get_aval
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ShapeLike
from olympus_core.library.lax.shape import reshape
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.random.implementations import KeyFunctions
from olympus_core.library.random.key_functions import key
from olympus_core.library.random.keys import UINT32, KeyArray, KeyDType, define_implementation
from olympus_core.primitives.threefry import threefry2x32_p
from olympus_core.transforms.vmapping import vmap

rbg_prng_impl = KeyDType("rbg")
threefry_prng_impl = KeyDType("threefry2x32")
unsafe_rbg_prng_impl = KeyDType("unsafe_rbg")


def define_prng_impl(
    *,
    key_shape: ShapeLike,
    seed: Callable[[Array], Array],
    split: Callable[[Array, Shape], Array],
    random_bits: Callable[[Array, int, Shape], Array],
    fold_in: Callable[[Array, Array], Array],
    name: str = "<unnamed>",
    tag: str = "?",
) -> KeyDType:
    """Return a new implementation of keys, which `random.key(seed, impl=...)` takes.

    A key has uint32 words of the shape `key_shape`.  `seed` maps an integer to a key,
    `split(key, shape)` returns words of the shape `(*shape, *key_shape)`,
    `random_bits(key, width, shape)` unsigned integers of `width` bits and the shape `shape`, and
    `fold_in(key, data)` a key of a key and a uint32.  They may be mapped by `vmap`.  The dtype of
    the keys is `key<tag>`.

    Functions of keys raise ShapeError if a function returns words of another shape.

    >>> counting = define_prng_impl(
    ...     key_shape=(1,),
    ...     seed=lambda seed: full((1,), seed, "uint32"),
    ...     split=lambda words, shape: ones((*shape, 1), "uint32") * words,
    ...     random_bits=lambda words, width, shape: full(shape, words[0], f"uint{width}"),
    ...     fold_in=lambda words, data: words + data,
    ... )
    >>> random.bits(random.key(7, impl=counting), (2,))
    Array([7, 7], dtype=uint32)
    """
    functions = KeyFunctions(canonical_shape(key_shape), seed, split, random_bits, fold_in)
    return define_implementation(name, tag, functions)


def random_seed(seeds: int | ArrayLike, impl: KeyDType) -> KeyArray:
    """Return typed keys of an implementation, of the shape of the integer seeds.

    Raises ArgumentError if `impl` is not one of the implementations, and DTypeError (a TypeError)
    for seeds that are no integers.

    >>> random_seed(numpy.arange(3), rbg_prng_impl).shape
    (3,)
    """
    if not isinstance(impl, KeyDType):
        raise ArgumentError(f"random_seed needs an implementation of keys, and got {impl!r}")

    def one(seed: ArrayLike) -> KeyArray:
        return key(seed, impl=impl)

    function = one
    for _ in np.shape(seeds) if isinstance(seeds, int) else get_aval(seeds).shape:
        function = vmap(function)
    return function(seeds)


def seed_with_impl(impl: KeyDType, seed: int | ArrayLike) -> KeyArray:
    """Return `random_seed(seed, impl)`.

    >>> seed_with_impl(threefry_prng_impl, 0).dtype
    key<fry>
    """
    return random_seed(seed, impl)


def threefry_2x32(keypair: ArrayLike | tuple[ArrayLike, ArrayLike], count: ArrayLike) -> Array:
    """Return the hash of Threefry of counters: uint32, of the shape of `count`.

    keypair: two uint32 words.  count: uint32; its first half has the high words and its second
    half has the low words, after a zero if the size is odd.

    Raises DTypeError (a TypeError) for another dtype.

    >>> threefry_2x32((uint32(1), uint32(2)), arange(4, dtype="uint32")).dtype
    dtype('uint32')
    """
    first, second, counts = asarray(keypair[0]), asarray(keypair[1]), asarray(count)  # type: ignore[index]
    found = [get_aval(x).dtype for x in (first, second, counts)]
    if any(dtype != UINT32 for dtype in found):
        raise DTypeError(f"threefry_2x32 requires uint32 arguments, got {found}")
    size = counts.size
    flat = reshape(counts, (size,))
    if size % 2:
        flat = concatenate([flat, np.zeros(1, UINT32)])
    half = (size + 1) // 2
    high, low = threefry2x32_p.bind(first, second, flat[:half], flat[half:])
    return reshape(concatenate([high, low])[:size], counts.shape)
