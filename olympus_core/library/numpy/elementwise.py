"""How the elementwise functions of `olympus.numpy` are made: rows of tables enter, functions leave.

A row says, for each kind of dtype (see `dtypes.kind`), what is applied once the operands are
promoted.  These functions are most of what a program calls while it is traced, so what needs no
promotion (operands of one type, or an array and a Python scalar that fits it) skips it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import Shape, ShapedArray, get_aval, shape_of
from olympus_core.dtypes import DType
from olympus_core.errors import DTypeError, ShapeError
from olympus_core.library.promotion import (
    broadcast_shapes,
    check_arrays,
    convert,
    promote_dtypes,
    promote_inexact,
)
from olympus_core.primitives.elementwise import kinds_text, ne_p, select_n_p
from olympus_core.primitives.shape import broadcast_in_dim_p

__all__ = ["Rows", "align", "binary", "choose", "promote_numeric", "unary"]

Operation = Callable[..., Any]
Rows = dict[str, Operation]
Promotion = Callable[..., list[Any]]

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
    """The operation for operands of an aval, or None where they have to be promoted first."""

    def __init__(self, rows: Rows) -> None:
        super().__init__({None: None})
        self.rows = rows

    def __missing__(self, aval: ShapedArray | None) -> Operation | None:
        assert aval is not None
        kind = dtypes.kind(aval.dtype)
        found = next((op for kinds, op in self.rows.items() if kind in kinds), None)
        self[aval] = found
        return found


_KIND_RANK: Final = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_SCALAR_RANK: Final = {bool: 0, int: 1, float: 2}
_CASTABLE: Final = {
    np.dtype(name)
    for name in (*"?bBhHiIlL", "int64", "uint64", *"efdFD", dtypes.bfloat16)
}
Cast = tuple[Callable[[Any], Any], float, float]


class _Casts(dict[tuple[type, ShapedArray | None], Cast | None]):
    """How a Python scalar of a class becomes one of an array's dtype, and in which range.

    None where the pair has to be promoted: the dtype gives way, or the scalar is none.
    """

    def __missing__(self, key: tuple[type, ShapedArray | None]) -> Cast | None:
        cls, aval = key
        rank = _SCALAR_RANK.get(cls)
        found = None
        if rank is not None and aval is not None and not aval.weak_type:
            if aval.dtype in _CASTABLE and rank <= _KIND_RANK[dtypes.kind(aval.dtype)]:
                found = (aval.dtype.type, *_range(aval.dtype))
        self[key] = found
        return found


def _range(dtype: DType) -> tuple[float, float]:
    """The Python scalars that NumPy casts to the dtype without an error or a warning."""
    kind = dtypes.kind(dtype)
    if kind in "iu":
        info = dtypes.iinfo(dtype)
        return int(info.min), int(info.max)
    return (0, 1) if kind == "b" else (-65504.0, 65504.0)  # what the narrowest, float16, holds


casts: Final = _Casts()


def _apply(name: str, rows: Rows, operands: Sequence[Any]) -> Any:
    """The row's operation for promoted operands; raises DTypeError where there is none."""
    aval = get_aval(operands[0])
    kind = dtypes.kind(aval.dtype)
    for kinds, operation in rows.items():
        if kind in kinds:
            return operation(*operands)
    kinds = kinds_text("".join(rows))
    raise DTypeError(f"{name} takes {kinds} arrays, and got {aval.long_name()}")


def promote_numeric(*xs: Any) -> list[Any]:
    """The operands in the least dtype that they share, an integer one at least."""
    promoted = promote_dtypes(*xs)
    if get_aval(promoted[0]).dtype != dtypes.bool_:
        return promoted
    return [convert(x, dtypes.canonicalize("int32")) for x in promoted]


def _document(
    function: Operation, name: str, summary: str, template: str, rows: Rows, promotion: Promotion
) -> Operation:
    function.__name__ = function.__qualname__ = name
    kinds = kinds_text("".join(rows))
    text = _PROMOTIONS.get(promotion, "; bools become integers")
    function.__doc__ = template.format(summary=summary, kinds=kinds, promotion=text)
    return function


@functools.lru_cache(maxsize=4096)
def _axes(shapes: tuple[Shape, ...], shaped_from: int) -> tuple[Shape, Sequence[Shape | None]]:
    """The shape that `shapes` broadcast to, and for each that has to, the axes that its own are.

    Rank-0 ones may stay, as elementwise primitives take them, unless all from `shaped_from` are.
    """
    shape = broadcast_shapes(*shapes)
    axes: list[Shape | None] = [
        None if s in ((), shape) else tuple(range(len(shape) - len(s), len(shape))) for s in shapes
    ]
    if shape and not any(shapes[shaped_from:]):
        axes[-1] = ()
    return shape, axes


def align(name: str, *xs: Any, shaped_from: int = 0) -> Sequence[Any]:
    """The operands of function `name` broadcast to one shape, rank-0 ones aside; see `_axes`."""
    shapes = tuple([shape_of(x) for x in xs])
    first = shapes[0]
    if all([s == first for s in shapes]):
        return xs
    try:
        shape, axes = _axes(shapes, shaped_from)
    except ShapeError as e:
        raise ShapeError(f"{name}: {e}") from None
    return [
        x if dims is None else broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims)
        for x, dims in zip(xs, axes, strict=True)
    ]


def unary(
    name: str, summary: str, rows: Rows, promotion: Promotion = promote_dtypes
) -> Callable[[Any], Any]:
    """The function `name` of one array, by its rows."""
    direct = _Direct(rows)

    def function(x: Any, /) -> Any:
        operation = direct[getattr(x, "aval", None)]
        if operation is not None:
            return operation(x)
        check_arrays(name, x)
        return _apply(name, rows, promotion(x))

    return _document(function, name, summary, _UNARY_DOC, rows, promotion)


def binary(
    name: str, summary: str, rows: Rows, promotion: Promotion = promote_dtypes
) -> Callable[[Any, Any], Any]:
    """The function `name` of two arrays, by its rows."""
    direct, scalars = _Direct(rows), casts

    def function(x: Any, y: Any, /) -> Any:
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
        elif a.dtype is b.dtype:
            operation = direct[a]
            if operation is not None:
                return operation(*align(name, x, y))
        check_arrays(name, x, y)
        return _apply(name, rows, align(name, *promotion(x, y)))

    return _document(function, name, summary, _BINARY_DOC, rows, promotion)


def choose(name: str, condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` holds, `y` elsewhere, for the function `name`."""
    aval = getattr(condition, "aval", None)
    if aval is None or aval.dtype is not dtypes.bool_:
        check_arrays(name, condition)
        if get_aval(condition).dtype != dtypes.bool_:
            condition = ne_p.bind(condition, _zero(condition))
    x, y = _one_dtype(name, x, y)
    return select_n_p.bind(*align(name, condition, y, x, shaped_from=1))


def _zero(x: Any) -> Any:
    return convert(0, get_aval(x).dtype)


def _one_dtype(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    a, b = getattr(x, "aval", None), getattr(y, "aval", None)
    if a is not None and b is None:
        cast = casts[y.__class__, a]
        if cast is not None and cast[1] <= y <= cast[2]:
            return x, cast[0](y)
    elif b is not None and a is None:
        cast = casts[x.__class__, b]
        if cast is not None and cast[1] <= x <= cast[2]:
            return cast[0](x), y
    elif a is not None and b is not None and a.dtype is b.dtype:
        return x, y
    check_arrays(name, x, y)
    one, other = promote_dtypes(x, y)
    return one, other
