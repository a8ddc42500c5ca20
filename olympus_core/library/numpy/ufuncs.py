"""The functions of `olympus.numpy` that are ufuncs: the same ones as in JAX.

The library itself calls the plain functions, which are faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from olympus_core.library.numpy.elementwise import arithmetic, bits, exponential, logic
from olympus_core.library.numpy.ufunc import ufunc

if TYPE_CHECKING:
    from olympus_core.ir.tracer import Array
    from olympus_core.ir.typing import ArrayLike

    class Unary(ufunc):
        """A ufunc of one array, for type checkers."""

        def __call__(  # type: ignore[override]
            self, x: ArrayLike, /, *, out: None = None, where: None = None
        ) -> Array: ...

    class Binary(ufunc):
        """A ufunc of two arrays, for type checkers."""

        def __call__(  # type: ignore[override]
            self, x: ArrayLike, y: ArrayLike, /, *, out: None = None, where: None = None
        ) -> Array: ...


def _binary(function: Any, identity: Any = None, **loops: str) -> Binary:
    result = ufunc(function, 2, 1, identity=identity, elementwise=True, loops=loops)
    return cast("Binary", result)


_SUM = {"reduce": "sum_reduce", "accumulate": "sum_accumulate", "at": "add_at"}
_PRODUCT = {"reduce": "product_reduce", "accumulate": "product_accumulate", "at": "multiply_at"}

add = _binary(arithmetic.add, 0, **_SUM)
bitwise_and = _binary(bits.bitwise_and, -1, reduce="bitwise_and_reduce")
bitwise_or = _binary(bits.bitwise_or, 0, reduce="bitwise_or_reduce")
bitwise_xor = _binary(bits.bitwise_xor, 0, reduce="bitwise_xor_reduce")
logaddexp = _binary(exponential.logaddexp, -float("inf"), reduce="logaddexp_reduce")
logaddexp2 = _binary(exponential.logaddexp2, -float("inf"), reduce="logaddexp2_reduce")
logical_and = _binary(logic.logical_and, True, reduce="logical_and_reduce")
logical_or = _binary(logic.logical_or, False, reduce="logical_or_reduce")
logical_xor = _binary(logic.logical_xor, False, reduce="logical_xor_reduce")
maximum = _binary(arithmetic.maximum, reduce="maximum_reduce")
minimum = _binary(arithmetic.minimum, reduce="minimum_reduce")
multiply = _binary(arithmetic.multiply, 1, **_PRODUCT)
negative = cast("Unary", ufunc(arithmetic.negative, 1, 1, elementwise=True))
subtract = _binary(arithmetic.subtract, at="subtract_at")
