"""Random bits from XLA's built-in generators; samplers are in `olympus.random`."""

from __future__ import annotations

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, canonical_shape, get_aval
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.elementwise.base import reshape
from olympus_core.primitives.elementwise.conversion import bitcast_convert_type_p
from olympus_core.primitives.random import UINT64, RandomAlgorithm, rng_bit_generator_p
from olympus_core.primitives.threefry import UINT32

_DTYPES = ("uint8", "uint16", "uint32", "uint64")


@out_sharded
@composite(static_argnames=("shape", "dtype", "algorithm"))
def rng_bit_generator(
    key: ArrayLike,
    shape: ShapeLike,
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: OutSharding = None,
) -> tuple[Array, Array]:
    """Return the next key and an array of random bits with the given shape.

    key: uint32[4] or uint64[2]; the next key has the same type. dtype: an unsigned integer dtype.
    With RNG_DEFAULT, the bits differ between backends; `olympus.random.bits` returns the same bits
    on all backends. Under `vmap`, the first key generates the bits of the whole batch.

    Raises ShapeError for a key of a different type, DTypeError if `dtype` is not unsigned.

    >>> rng_bit_generator(array([1, 2, 3, 4], "uint32"), (2,))[1]
    Array([ 512747620, 1298009047], dtype=uint32)
    """
    check_arrays("rng_bit_generator", key)
    new = dtypes.requested("rng_bit_generator", dtype)
    if new.name not in _DTYPES:
        raise DTypeError(
            f"rng_bit_generator: unsupported dtype {new.name}; it gives {', '.join(_DTYPES)}"
        )
    aval = get_aval(key)
    key_words = _as_words(key, aval)
    size = canonical_shape(shape)
    next_key, bits = rng_bit_generator_p.bind(
        key_words, shape=size, dtype=new, algorithm=RandomAlgorithm(algorithm)
    )
    if aval.dtype == UINT32:
        next_key = reshape(bitcast_convert_type_p.bind(next_key, new_dtype=UINT32), (4,))
    return next_key, bits


def _as_words(key: ArrayLike, aval: ShapedArray) -> Array:
    """Return the key as uint64[2]; raise ShapeError for a key of a different type."""
    if (aval.dtype, aval.shape) == (UINT64, (2,)):
        return bitcast_convert_type_p.bind(key, new_dtype=UINT64)
    if (aval.dtype, aval.shape) != (UINT32, (4,)):
        raise ShapeError(
            f"rng_bit_generator needs a key of type uint32[4] or uint64[2], and got "
            f"{aval.short_name()}"
        )
    return bitcast_convert_type_p.bind(reshape(key, (2, 2)), new_dtype=UINT64)
