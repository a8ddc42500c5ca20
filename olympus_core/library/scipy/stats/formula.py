"""The promotion that the functions of all distributions share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from olympus_core.base.avals import get_aval
from olympus_core.ir.tracer import Array
from olympus_core.library.composite import composite
from olympus_core.library.promotion import (
    check_arrays,
    convert_array,
    promote_inexact,
    promote_shapes,
)


def of_floats(name: str) -> Callable[[Callable[..., Any]], Callable[..., Array]]:
    """Decorate the formula of the function `name`: its operands become floats of one dtype.

    The operands are arrays or scalars of shapes that broadcast; the formula gets arrays. Raises
    DTypeError for other values, ShapeError for shapes that do not broadcast.

    >>> @of_floats("half")
    ... def half(x):
    ...     return x / 2
    """

    def wrap(formula: Callable[..., Any]) -> Callable[..., Array]:
        @composite()
        def promoted(*operands: Any) -> Any:
            floats = promote_shapes(name, *promote_inexact(*operands))
            avals = [get_aval(x) for x in floats]
            return formula(
                *(
                    convert_array(x, a.dtype, a.weak_type)
                    for x, a in zip(floats, avals, strict=True)
                )
            )

        @functools.wraps(formula)
        def checked(*operands: Any) -> Array:
            check_arrays(name, *operands)
            result: Array = promoted(*operands)
            return result

        return checked

    return wrap
