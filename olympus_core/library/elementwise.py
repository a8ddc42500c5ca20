"""Factories of elementwise functions, from tables of the operation for each kind of dtype.

A row gives, for each kind of dtype (see `dtypes.kind`), the operation on promoted operands, and
for a public function the example in its docstring: a call and the printed result.
These functions are most of the calls while a program is traced, so operands that need no
promotion (of one type, or an array and a Python scalar in its range) skip it.  Otherwise an
eager call converts, broadcasts and computes in one program, also in a derivative or a `vmap`,
as under `jit`: XLA then computes a bool times an infinity as a select, which is 0 where the bool
is False.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval, self_converted
from olympus_core.base.errors import DTypeError
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.operands import align, casts
from olympus_core.library.promotion import check_arrays, promote_dtypes, promote_inexact
from olympus_core.primitives.elementwise.base import Elementwise, kinds_text, rejected_dtype

Operation = Callable[..., Array]


Rows = dict[str, Operation]


#: a call, and the printed result
Example = tuple[str, str]


Promotion = Callable[..., list[Any]]


_F = TypeVar("_F", bound=Operation)


_UNARY_DOC = """{summary}

    x: an array or scalar of kind {kinds}{promotion}.  The result has the shape of `x`.

    Raises DTypeError for a value that is not an array, or of another kind.
    """


_BINARY_DOC = """{summary}

    Operands: arrays or scalars of kind {kinds}, of shapes that broadcast{promotion}.

    Raises DTypeError for operands that are not arrays, or of another kind, and ShapeError for
    shapes that do not broadcast.
    """


_PROMOTIONS: Final[dict[Promotion, str]] = {
    promote_dtypes: "",
    promote_inexact: "; integers and bools become floats",
}


class _Direct(dict[ShapedArray | None, Operation | None]):
    """The operation for operands of an aval; None if they must be promoted first."""

    def __init__(self, rows: Rows) -> None:
        super().__init__({None: None})
        self.rows = rows

    def __missing__(self, aval: ShapedArray | None) -> Operation | None:
        assert aval is not None
        kind = dtypes.kind(aval.dtype)
        matching_op = next((op for kinds, op in self.rows.items() if kind in kinds), None)
        self[aval] = matching_op
        return matching_op


def _apply(name: str, rows: Rows, operands: Sequence[Any]) -> Array:
    """Apply the row's operation to promoted operands; raise DTypeError if the row has none."""
    aval = get_aval(operands[0])
    kind = dtypes.kind(aval.dtype)
    for kinds, operation in rows.items():
        if kind in kinds:
            return operation(*operands)
    avals = [aval, *map(get_aval, operands[1:])]
    raise DTypeError(rejected_dtype(name, "".join(rows), avals, 0))


def _document(
    function: _F,
    name: str,
    summary: str,
    template: str,
    rows: Rows,
    promotion: Promotion,
    example: Example | None,
) -> _F:
    function.__name__ = function.__qualname__ = name
    kinds = kinds_text("".join(rows))
    text = _PROMOTIONS.get(promotion, "; bools become integers")
    shown = "" if example is None else "\n    >>> {}\n    {}\n    ".format(*example)
    function.__doc__ = template.format(summary=summary, kinds=kinds, promotion=text) + shown
    return function


def _given(name: str, *operands: Any) -> list[Any]:
    """Return the operands of function `name`, converting objects with `__jax_array__` to arrays."""
    check_arrays(name, *operands)
    return [*map(self_converted, operands)]


def unary(
    name: str,
    summary: str,
    rows: Rows,
    promotion: Promotion = promote_dtypes,
    *,
    example: Example | None = None,
) -> Callable[[ArrayLike], Array]:
    """Return the function `name` of one array, by its rows."""
    direct = _Direct(rows)

    def after_promotion(x: Any) -> Array:
        return _apply(name, rows, promotion(x))

    after_promotion.__name__ = name
    converted = composite()(after_promotion)

    def function(x: ArrayLike, /) -> Array:
        operation = direct[getattr(x, "aval", None)]
        if operation is not None:
            return operation(x)
        (x,) = _given(name, x)
        operation = direct[get_aval(x)]
        return converted(x) if operation is None else operation(x)

    return _document(function, name, summary, _UNARY_DOC, rows, promotion, example)


def inexact(
    name: str,
    summary: str,
    primitive: Elementwise,
    kinds: str = "fc",
    *,
    example: Example | None = None,
) -> Callable[[ArrayLike], Array]:
    """Return the function `name`, one primitive of floats; integers are converted to floats."""
    return unary(name, summary, {kinds: primitive.bind}, promote_inexact, example=example)


def binary(
    name: str,
    summary: str,
    rows: Rows,
    promotion: Promotion = promote_dtypes,
    *,
    example: Example | None = None,
) -> Callable[[ArrayLike, ArrayLike], Array]:
    """Return the function `name` of two arrays, by its rows."""
    direct, scalars = _Direct(rows), casts

    def after_promotion(x: Any, y: Any) -> Array:
        return _apply(name, rows, align(name, *promotion(x, y)))

    after_promotion.__name__ = name
    converted = composite()(after_promotion)

    def function(x: ArrayLike, y: ArrayLike, /) -> Array:
        a, b = getattr(x, "aval", None), getattr(y, "aval", None)
        if a is b:
            operation = direct[a]
            if operation is not None:
                return operation(x, y)
        elif b is None:
            cast, operation = scalars[y.__class__, a], direct[a]
            if cast is not None and operation is not None and cast[1] <= y <= cast[2]:
                return operation(x, cast[0](y))
        elif a is None:
            cast, operation = scalars[x.__class__, b], direct[b]
            if cast is not None and operation is not None and cast[1] <= x <= cast[2]:
                return operation(cast[0](x), y)
        elif a.dtype is b.dtype and not (a.shape and b.shape and trace.at_base()):
            operation = direct[a]
            if operation is not None:
                return operation(*align(name, x, y))
        x, y = _given(name, x, y)
        a, b = get_aval(x), get_aval(y)
        operation = direct[a] if a.dtype == b.dtype else None
        if operation is None or (a.shape != b.shape and a.shape and b.shape):
            return converted(x, y)
        return operation(*align(name, x, y))

    return _document(function, name, summary, _BINARY_DOC, rows, promotion, example)
