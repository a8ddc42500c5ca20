"""The public functions of random keys: `key`, `split`, `fold_in` and the conversions of keys."""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast, overload

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, get_aval
from olympus_core.base.context import state
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ShapeLike
from olympus_core.library.lax.shape import reshape
from olympus_core.library.random.generators import random_fold_in, random_seed, random_split
from olympus_core.library.random.keys import (
    UINT32,
    KeyArray,
    KeyDType,
    KeyLike,
    check_raw_key,
    checked_seed,
    impl_of,
    implementation,
    key_words,
    like,
    one_key,
)

_Key = TypeVar("_Key", bound=KeyLike)


def key(
    seed: ArrayLike, *, impl: str | KeyDType | None = None, dtype: str | KeyDType | None = None
) -> KeyArray:
    """Return a typed key for an integer seed.

    impl: "threefry2x32", the default outside of `default_prng_impl`; "threefry4x32", "philox2x32"
    or "philox4x32"; or "rbg" or "unsafe_rbg", whose bits depend on the device.

    Raises ShapeError or DTypeError (both are TypeErrors) for a seed that is not one integer,
    OverflowError for one of more than 64 bits.

    >>> key(0).dtype
    key<fry>
    """
    name = implementation(dtype if impl is None else impl)
    return KeyArray(random_seed(checked_seed("key", seed), name), name)


def PRNGKey(seed: ArrayLike, *, impl: str | KeyDType | None = None) -> Array:
    """Return a raw key for an integer seed: uint32[2], the seed's high and low words.

    impl: an implementation of `key`, by default "threefry2x32".  Keys of "rbg", "unsafe_rbg" and
    "threefry4x32" are uint32[4], and those of "philox2x32" uint32[1].

    >>> PRNGKey(7)
    Array([0, 7], dtype=uint32)
    """
    name = implementation(impl)
    words: Any = random_seed(checked_seed("PRNGKey", seed), name)
    keys: Array = cast("Any", KeyArray(words, name)) if state.enable_custom_prng else words
    return keys


@overload
def split(key: KeyArray, num: ShapeLike = 2) -> KeyArray: ...
@overload
def split(key: ArrayLike, num: ShapeLike = 2) -> Array: ...
def split(key: KeyLike, num: ShapeLike = 2) -> Array | KeyArray:
    """Split a key into `num` new keys: (num,) of them, or an array of the shape `num`.

    Raises ShapeError for an array of keys.

    >>> split(key(0), 3).shape
    (3,)
    """
    return like(key, random_split(one_key("split", key), canonical_shape(num, "num")))


@overload
def fold_in(key: KeyArray, data: ArrayLike) -> KeyArray: ...
@overload
def fold_in(key: ArrayLike, data: ArrayLike) -> Array: ...
def fold_in(key: KeyLike, data: ArrayLike) -> Array | KeyArray:
    """Return a new key from a key and a 32-bit integer, such as the number of a step.

    Raises OverflowError for a Python int outside of uint32, ShapeError for an array of data.

    >>> fold_in(key(0), 1).dtype
    key<fry>
    """
    words = one_key("fold_in", key)
    shape = get_aval(data).shape
    if shape:
        raise ShapeError(
            f"fold_in accepts a scalar, but was given an array of shape {shape} != (). "
            "Use jax.vmap for batching.",
            hint="use olympus.vmap to fold in one integer at a time",
        )
    if isinstance(data, int):
        dtypes.check_python_int(data, UINT32)
    return like(key, random_fold_in(words, data))


def key_data(keys: KeyLike) -> Array:
    """Return the words of keys: uint32, along a last axis of length 2, or another for `rbg`.

    Keys of an implementation of `extend.random.define_prng_impl` have words of its shape.

    >>> key_data(key(7))
    Array([0, 7], dtype=uint32)
    """
    check_raw_key("key_data", keys)
    words: Array = key_words("key_data", keys)
    if keys.__class__ is KeyArray and len(keys.dtype.key_shape) != 1:
        return reshape(words, (*keys.shape, *keys.dtype.key_shape))
    return words


def wrap_key_data(
    key_bits_array: ArrayLike,
    *,
    impl: str | KeyDType | None = None,
    dtype: str | KeyDType | None = None,
) -> KeyArray:
    """Return typed keys with the given words, the inverse of `key_data`.

    key_bits_array: uint32[..., 2], or another number of words for some implementations.

    >>> wrap_key_data(np.array([0, 7], "uint32")).dtype
    key<fry>
    """
    name = implementation(dtype if impl is None else impl)
    key_shape = KeyDType(name).key_shape
    if len(key_shape) != 1:
        key_bits_array = _with_flat_words(key_bits_array, key_shape)
    keys = KeyArray(key_bits_array, name)
    return keys.with_data(key_words("wrap_key_data", keys))


def _with_flat_words(bits: ArrayLike, key_shape: Shape) -> Array:
    """Return words along one axis, of words of keys along the axes of `key_shape`."""
    shape = get_aval(bits).shape
    if shape[len(shape) - len(key_shape) :] != key_shape:
        raise ShapeError(
            "JAX encountered invalid PRNG key data: expected key_data.shape to end with "
            f"{key_shape}; got shape={shape}"
        )
    return reshape(bits, (*shape[: len(shape) - len(key_shape)], math.prod(key_shape)))


def key_dtype(impl_spec: str | KeyDType | None = None) -> KeyDType:
    """Return the dtype of typed keys.

    >>> key_dtype()
    key<fry>
    """
    return KeyDType(implementation(impl_spec))


def key_impl(keys: KeyLike) -> str | KeyDType:
    """Return the name of the keys' implementation, such as "threefry2x32".

    It is the result of `extend.random.define_prng_impl` for an implementation without a name.

    >>> str(key_impl(key(0)))
    'threefry2x32'
    """
    check_raw_key("key_impl", keys)
    key_words("key_impl", keys)
    if keys.__class__ is KeyArray and keys.dtype.is_defined:
        dtype: KeyDType = keys.dtype
        return dtype
    return impl_of(keys)


def clone(key: _Key) -> _Key:
    """Return the same key, for an intended second use that draws the same numbers.

    >>> key_data(clone(key(7)))
    Array([0, 7], dtype=uint32)
    """
    key_words("clone", key)
    return key
