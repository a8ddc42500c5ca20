"""Sums and products up to each element: `cumsum`, `cumprod`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ShapeError, ShardingTypeError
from olympus_core.ir.sharding_rules import spec_of
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import one_axis
from olympus_core.library.operands import operand, reject_out, scalar
from olympus_core.library.promotion import wide_integer
from olympus_core.primitives.cumulative import Cumulative, cumprod_p, cumsum_p
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.elementwise.conversion import convert_element_type_p
from olympus_core.primitives.elementwise.logic import ne_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.joining import concatenate_p
from olympus_core.primitives.shape import broadcast_in_dim_p, reshape_p

if TYPE_CHECKING:
    from olympus_core.library.signatures import CumulativeFunction as CumulativeFunction
    from olympus_core.library.signatures import CumulativeOfAxis


class _Rule(NamedTuple):
    """A cumulative function: its primitive, and the value before the first element."""

    name: str
    primitive: Cumulative
    start: int
    skip_nan: bool = False
    widen: bool = False  # integers to at least the default ones


def _accumulate(
    rule: _Rule, a: Any, aval: ShapedArray, axis: int | None, dtype: Any
) -> tuple[Array, int]:
    """Return the cumulative values and their axis."""
    if axis is None and any(spec_of(aval)):
        raise ShardingTypeError(
            f"The input should be fully replicated when axis is not specified to {rule.name}. Got "
            f"input type={aval.long_name()}"
        )
    if axis is None or not aval.ndim:
        a = a if aval.ndim == 1 else reshape_p.bind(a, dimensions=None, new_sizes=(aval.size,))
        place = one_axis(rule.name, 1, 0 if axis is None else axis)
    else:
        place = one_axis(rule.name, aval.ndim, axis)
    if rule.skip_nan and dtypes.kind(aval.dtype) in "fc":
        a = select_n_p.bind(ne_p.bind(a, a), a, scalar(rule.start, aval.dtype))
    if dtype is not None:
        result = dtypes.requested(rule.name, dtype)
    else:
        result = wide_integer(aval.dtype) if rule.widen or aval.dtype == BOOL else aval.dtype
    if result == BOOL and aval.dtype != BOOL:
        a = ne_p.bind(a, scalar(0, aval.dtype))  # 1 and -1 are true, and so is their sum
    compute = dtypes.default_dtype("i") if result == BOOL else result
    if aval.dtype != compute or aval.weak_type:
        a = convert_element_type_p.bind(a, new_dtype=compute, weak_type=False)
    a = rule.primitive.bind(a, axis=place, reverse=False)
    if compute != result:
        a = convert_element_type_p.bind(a, new_dtype=result, weak_type=False)
    return a, place


def _numpy_style(rule: _Rule, printed: str) -> CumulativeFunction:
    def cumulative(
        a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        if out is not None:
            reject_out(rule.name, out)
        return _accumulate(rule, *operand(rule.name, a), axis, dtype)[0]

    what = "product" if rule.start else "sum"
    cumulative.__name__ = cumulative.__qualname__ = rule.name
    cumulative.__doc__ = f"""The {what} of the elements up to each one along `axis`.

    a: an array or scalar.  axis: an int, or None for the elements in row-major order.  dtype: of
    the result; by default that of `a`, or the default integer for bools.
    {f"NaN counts as {rule.start}." if rule.skip_nan else "A NaN makes all that follow NaN."}

    Raises ShapeError for an axis that the array does not have.

    >>> {rule.name}(asarray([1.0, 2.0, nan, 3.0]))
    {printed}
    """
    return cumulative


cumsum = _numpy_style(_Rule("cumsum", cumsum_p, 0), "Array([ 1.,  3., nan, nan], dtype=float32)")
cumprod = _numpy_style(_Rule("cumprod", cumprod_p, 1), "Array([ 1.,  2., nan, nan], dtype=float32)")
nancumsum = _numpy_style(
    _Rule("nancumsum", cumsum_p, 0, skip_nan=True), "Array([1., 3., 3., 6.], dtype=float32)"
)
nancumprod = _numpy_style(
    _Rule("nancumprod", cumprod_p, 1, skip_nan=True), "Array([1., 2., 2., 6.], dtype=float32)"
)


def _standard_style(rule: _Rule, printed: str) -> CumulativeOfAxis:
    def cumulative(
        x: ArrayLike,
        /,
        *,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        include_initial: bool = False,
    ) -> Array:
        x, aval = operand(rule.name, x)
        if not aval.ndim or (axis is None and aval.ndim > 1):
            raise ShapeError(
                f"{rule.name} needs an axis, and an array that has one, and got {aval.long_name()}"
            )
        out, place = _accumulate(rule, x, aval, axis, dtype)
        if not include_initial:
            return out
        shape = tuple([1 if i == place else n for i, n in enumerate(aval.shape)])
        start = scalar(rule.start, out.dtype)
        first = broadcast_in_dim_p.bind(start, shape=shape, broadcast_dimensions=())
        with_initial: Array = concatenate_p.bind(first, out, dimension=place)
        return with_initial

    what = "product" if rule.start else "sum"
    cumulative.__name__ = cumulative.__qualname__ = rule.name
    cumulative.__doc__ = f"""The {what} of the elements up to each one along `axis`.

    x: an array; `axis` may be left out for one dimension.  dtype: of the result; by default that
    of `x`{", widened to the default integer" if rule.widen else ""}.  include_initial: start with
    {rule.start}, one element more.

    Raises ShapeError for a scalar, or for several dimensions and no axis.

    >>> {rule.name}(asarray([1, 2, 3]), include_initial=True)
    {printed}
    """
    return cumulative


cumulative_sum = _standard_style(
    _Rule("cumulative_sum", cumsum_p, 0, widen=True), "Array([0, 1, 3, 6], dtype=int32)"
)
cumulative_prod = _standard_style(
    _Rule("cumulative_prod", cumprod_p, 1), "Array([1, 1, 2, 6], dtype=int32)"
)
