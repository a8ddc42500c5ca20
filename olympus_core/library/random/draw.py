"""The common procedure of all samplers: draw by a formula, as one compiled program.

A formula is a function (key words, *parameters, shape, dtype) whose parameters have the dtype and
broadcast to the shape.  Called eagerly, a draw is one program, compiled once for a formula, a
shape and a dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, get_aval, shape_of
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import TypePromotionError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import DTypeLike, ShapeLike
from olympus_core.library.composite import composite
from olympus_core.library.promotion import broadcast_to, convert
from olympus_core.library.random.keys import KeyLike, one_key
from olympus_core.library.random.uniform import float_dtype, result_shape


@composite(static_argnames=("formula", "shape", "dtype"))
def _draw(
    key: Any, *parameters: Any, formula: Callable[..., Array], shape: Shape, dtype: DType
) -> Array:
    full = [convert(x, dtype) for x in parameters]
    full = [broadcast_to(x, shape) if shape_of(x) else x for x in full]
    return formula(key, *full, shape, dtype)


def draw(
    name: str,
    formula: Callable[..., Array],
    key: KeyLike,
    shape: ShapeLike | None,
    dtype: DTypeLike | None,
    *parameters: Any,
    kinds: str = "f",
) -> Array:
    """Return samples of the distribution `name`, by its formula.

    `shape` is the shape of the result, or None for the broadcast shape of the parameters.  Raises
    ArgumentError for a dtype not of one of the `kinds`, ShapeError for parameters that do not
    match, TypePromotionError for complex ones of a real distribution.
    """
    words = one_key(name, key)
    dtype = float_dtype(name, dtype, kinds)
    shape = result_shape(name, shape, *parameters)
    for parameter_dtype in [get_aval(x).dtype for x in parameters]:
        if dtypes.kind(parameter_dtype) == "c" and dtypes.kind(dtype) != "c":
            raise TypePromotionError(
                f"{name} of {dtype} needs real parameters, and got {parameter_dtype}"
            )
    return _draw(words, *parameters, formula=formula, shape=shape, dtype=dtype)
