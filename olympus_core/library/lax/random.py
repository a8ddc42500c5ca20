"""Random bits of XLA's own generators; `olympus.random` has the samplers."""

from __future__ import annotations

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, canonical_shape, get_aval
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.composite import composite
from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.elementwise.base import reshape
from olympus_core.primitives.elementwise.conversion import bitcast_convert_type_p
from olympus_core.primitives.random import UINT32, UINT64, RandomAlgorithm, rng_bit_generator_p

_DTYPES = ("uint8", "uint16", "uint32", "uint64")


@composite(static_argnames=("shape", "dtype", "algorithm"))
def rng_bit_generator(
    key: ArrayLike,
    shape: ShapeLike,
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
) -> tuple[Array, Array]:
    """Return the next key, and an array of `shape` of random bits.

    key: uint32[4] or uint64[2]; the next key has the same type. dtype: an unsigned integer. Other
    backends give other bits for RNG_DEFAULT; `olympus.random.bits` gives the same bits everywhere.
    Under `vmap`, each key has bits of its own.

    Raises ShapeError for a key of another shape, DTypeError for other dtypes.

    >>> rng_bit_generator(array([1, 2, 3, 4], "uint32"), (2,))[1]
    Array([ 512747620, 1298009047], dtype=uint32)
    """
    check_arrays("rng_bit_generator", key)
    new = dtypes.canonicalize(dtype)
    if new.name not in _DTYPES:
        raise DTypeError(
            f"rng_bit_generator gives {', '.join(_DTYPES)}, and got the dtype {new.name}"
        )
    aval = get_aval(key)
    state = _state(key, aval)
    size = canonical_shape(shape)
    state, bits = rng_bit_generator_p.bind(
        state, shape=size, dtype=new, algorithm=RandomAlgorithm(algorithm)
    )
    if aval.dtype == UINT32:
        state = reshape(bitcast_convert_type_p.bind(state, new_dtype=UINT32), (4,))
    return state, bits


def _state(key: ArrayLike, aval: ShapedArray) -> Array:
    """Return the key as two words of 64 bits."""
    if (aval.dtype, aval.shape) == (UINT64, (2,)):
        return bitcast_convert_type_p.bind(key, new_dtype=UINT64)
    if (aval.dtype, aval.shape) != (UINT32, (4,)):
        raise ShapeError(
            f"rng_bit_generator needs a key of type uint32[4] or uint64[2], and got "
            f"{aval.short_name()}"
        )
    return bitcast_convert_type_p.bind(reshape(key, (2, 2)), new_dtype=UINT64)
