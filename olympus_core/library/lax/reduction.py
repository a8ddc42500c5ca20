"""The reductions of `olympus.lax`: over axes, by a primitive or a function, and cumulative ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.errors import ShapeError, TraceError
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import Primitive, SingleResult
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.primitives.cumulative import (
    Cumulative,
    cumlogsumexp_p,
    cummax_p,
    cummin_p,
    cumprod_p,
    cumsum_p,
)
from olympus_core.primitives.elementwise.arithmetic import add_p, max_p, min_p, mul_p
from olympus_core.primitives.elementwise.logic import and_p, or_p, xor_p
from olympus_core.primitives.reduction import (
    Reduction,
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from olympus_core.transforms.staging import stage, stage_once

if TYPE_CHECKING:

    class _OverAxes(Protocol):
        """A reduction over axes."""

        def __call__(self, operand: ArrayLike, axes: Sequence[int]) -> Array: ...

    class _AlongAxis(Protocol):
        """A reduction of the elements up to each index along an axis."""

        def __call__(self, operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...


def _reduction(primitive: Reduction, summary: str, printed: str) -> _OverAxes:
    def reduction(operand: ArrayLike, axes: Sequence[int]) -> Array:
        check_arrays(primitive.name, operand)
        return primitive.bind(operand, axes=tuple(map(operator.index, axes)))

    reduction.__name__ = reduction.__qualname__ = primitive.name
    reduction.__doc__ = f"""{summary} over `axes`, a sequence of distinct axes from 0.

    operand: an array.  The result has its dtype, and its shape without the axes.

    Raises ShapeError for axes that the operand does not have, DTypeError for another kind.

    >>> {primitive.name}(array([[1, 2, 3], [4, 5, 6]]), (1,))
    {printed}
    """
    return reduction


@out_sharded
def reduce_sum(
    operand: ArrayLike, axes: Sequence[int], *, out_sharding: OutSharding = None
) -> Array:
    """The sum of the elements over `axes`, a sequence of distinct axes from 0.

    operand: an array.  The result has its dtype, and its shape without the axes.

    Raises ShapeError for axes that the operand does not have, DTypeError for another kind.

    >>> reduce_sum(array([[1, 2, 3], [4, 5, 6]]), (1,))
    Array([ 6, 15], dtype=int32)
    """
    check_arrays("reduce_sum", operand)
    return reduce_sum_p.bind(operand, axes=tuple(map(operator.index, axes)))


reduce_prod = _reduction(
    reduce_prod_p, "The product of the elements", "Array([  6, 120], dtype=int32)"
)
reduce_max = _reduction(reduce_max_p, "The greatest element", "Array([3, 6], dtype=int32)")
reduce_min = _reduction(reduce_min_p, "The least element", "Array([1, 4], dtype=int32)")
reduce_and = _reduction(
    reduce_and_p, "Bitwise or logical 'and' of the elements", "Array([0, 4], dtype=int32)"
)
reduce_or = _reduction(
    reduce_or_p, "Bitwise or logical 'or' of the elements", "Array([3, 7], dtype=int32)"
)
reduce_xor = _reduction(
    reduce_xor_p, "Bitwise or logical 'exclusive or' of the elements", "Array([0, 7], dtype=int32)"
)


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Return the index along `axis` of the first greatest element; a NaN counts as the greatest.

    The result has the integer dtype `index_dtype`.  Raises ShapeError for an axis that the operand
    does not have, or that is empty.

    >>> argmax(array([[1, 5], [7, 2]]), 1, "int32")
    Array([1, 0], dtype=int32)
    """
    return _arg(argmax_p, operand, axis, index_dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Return the index along `axis` of the first least element; a NaN counts as the least.

    The result has the integer dtype `index_dtype`.  Raises ShapeError for an axis that the operand
    does not have, or that is empty.

    >>> argmin(array([[1, 5], [7, 2]]), 1, "int32")
    Array([0, 1], dtype=int32)
    """
    return _arg(argmin_p, operand, axis, index_dtype)


def _arg(primitive: SingleResult, operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    check_arrays(primitive.name, operand)
    place = operator.index(axis)
    dtype = dtypes.requested(primitive.name, index_dtype)
    return primitive.bind(operand, axes=(place,), index_dtype=dtype)


#: the reductions by the single operation of a computation
_MONOIDS: dict[Primitive, Reduction] = {
    add_p: reduce_sum_p,
    mul_p: reduce_prod_p,
    max_p: reduce_max_p,
    min_p: reduce_min_p,
    and_p: reduce_and_p,
    or_p: reduce_or_p,
    xor_p: reduce_xor_p,
}


@out_sharded
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: OutSharding = None,
) -> Any:
    """Reduce arrays of one shape over `dimensions` by a function of two scalars of each.

    operands: an array, or a tree of arrays; init_values: a scalar for each, of its dtype;
    computation: a function of two trees of scalars to one, associative, with the initial values as
    its identity.

    Raises ShapeError or DTypeError if operands, initial values and computation do not match.

    >>> reduce(array([1., 2., 3.]), 0., lambda x, y: x + y, (0,))
    Array(6., dtype=float32)
    """
    combined = Combiner("reduce", operands, init_values, computation)
    axes = tuple(map(operator.index, dimensions))
    monoid = combined.monoid()
    if monoid is not None:
        return combined.result([monoid.bind(*combined.arrays, axes=axes)])
    program, values = combined.program, (*combined.arrays, *combined.inits)
    return combined.result(reduce_p.bind(*values, olympuspr=program, dimensions=axes))


class Combiner:
    """A user's computation on trees of scalars, as a program, and its operands."""

    def __init__(
        self, name: str, operands: Any, init_values: Any, computation: Callable[..., Any]
    ) -> None:
        self.name = name
        self.arrays, self.tree = tree.flatten(operands)
        inits, init_tree = tree.flatten(init_values)
        if not self.arrays:
            raise ShapeError(f"{name} must have at least one operand.")
        if init_tree != self.tree:
            raise ShapeError(
                "Operands must have the same tree structure as init_values: "
                f"{self.tree} vs. {init_tree}, in {name}"
            )
        check_arrays(name, *self.arrays, *inits)
        avals = [get_aval(x) for x in self.arrays]
        self.inits = [
            convert(x, a.dtype) if dtypes.is_python_scalar(x) else x
            for x, a in zip(inits, avals, strict=True)
        ]
        scalars = tuple([shaped((), a.dtype) for a in avals])
        self.program = stage_once(
            computation, (name, self.tree, scalars), lambda: self._staged(computation, scalars)
        )

    def _staged(self, computation: Callable[..., Any], scalars: Sequence[ShapedArray]) -> Olympuspr:
        def flat(*leaves: Any) -> list[Any]:
            half = len(scalars)
            out = computation(*map(self.tree.unflatten, (leaves[:half], leaves[half:])))
            results, out_tree = tree.flatten(out)
            if out_tree != self.tree:
                raise ShapeError(
                    f"{self.name} output must have the same tree structure as the operands "
                    f"{self.tree} vs. {out_tree}, which the computation returned"
                )
            return results

        program = stage(flat, (*scalars, *scalars), what=f"the computation of {self.name}")
        if program.consts:
            raise TraceError(
                f"the computation of {self.name} uses an array from outside of it; "
                "it may use its arguments and scalars only"
            )
        return program

    def monoid(self) -> Reduction | None:
        """The equivalent reduction, if the computation is one operation with its identity."""
        if len(self.arrays) != 1 or len(self.program.eqns) != 1:
            return None
        (eqn,), outvars = self.program.eqns, self.program.outvars
        known_monoid = _MONOIDS.get(eqn.primitive)
        if (
            known_monoid is None
            or set(eqn.inputs) != set(self.program.invars)
            or outvars != eqn.outputs
        ):
            return None
        init, dtype = self.inits[0], get_aval(self.arrays[0]).dtype
        if isinstance(init, Tracer) or dtypes.kind(dtype) not in known_monoid.kinds:
            return None
        identity = np.asarray(known_monoid.identity(dtype)).astype(dtype)
        same = get_aval(init) is shaped((), dtype) and bool(np.asarray(init) == identity)
        return known_monoid if same else None

    def result(self, values: Sequence[Any]) -> Any:
        """Return the results as a tree with the structure of the operands."""
        return self.tree.unflatten(values)


def _cumulative(primitive: Cumulative, summary: str, printed: str) -> _AlongAxis:
    def cumulative(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        check_arrays(primitive.name, operand)
        place = operator.index(axis)
        if place < 0:
            raise ShapeError(
                f"XLA operations do not allow negative axes: {primitive.name} got axis {axis}"
            )
        return primitive.bind(operand, axis=place, reverse=bool(reverse))

    cumulative.__name__ = cumulative.__qualname__ = primitive.name
    cumulative.__doc__ = f"""{summary} of the elements up to each one along `axis`.

    operand: an array; the result has its shape and dtype.  axis: from 0.  reverse: reduce the
    elements from each one to the last.

    Raises ShapeError for an axis that the operand does not have, DTypeError for another kind.

    >>> {primitive.name}(array([1.0, 3.0, 2.0]))
    {printed}
    """
    return cumulative


cumsum = _cumulative(cumsum_p, "The sum", "Array([1., 4., 6.], dtype=float32)")
cumprod = _cumulative(cumprod_p, "The product", "Array([1., 3., 6.], dtype=float32)")
cummax = _cumulative(cummax_p, "The greatest", "Array([1., 3., 3.], dtype=float32)")
cummin = _cumulative(cummin_p, "The least", "Array([1., 1., 1.], dtype=float32)")
cumlogsumexp = _cumulative(
    cumlogsumexp_p,
    "The logarithm of the sum of the exponentials",
    "Array([1.       , 3.126928 , 3.4076061], dtype=float32)",
)
