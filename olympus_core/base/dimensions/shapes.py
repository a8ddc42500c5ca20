"""`symbolic_shape`: the sizes of a shape from a text."""

from __future__ import annotations

from collections.abc import Sequence

from olympus_core.base.dimensions.expression import SymbolicDim
from olympus_core.base.dimensions.parsing import Size, parsed_shape
from olympus_core.base.dimensions.scope import SymbolicScope
from olympus_core.base.errors import DTypeError, ShapeError


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[Size | None] | None = None,
) -> tuple[Size, ...]:
    """Return the sizes of a shape from a text, with a `SymbolicDim` for each that is symbolic.

    In the text, `_` is replaced by the size of `like` in that place, and `...` by all that follow.
    None is the text "...".  Shapes of one program are in one `scope`; without it, a new one has the
    `constraints`.

    Raises ShapeError for a text that is no shape, for placeholders without `like`, and for both a
    `scope` and `constraints`.

    >>> symbolic_shape("b, 2*b + 1, _", constraints=["b >= 2"], like=(None, None, 8))
    (b, 2*b + 1, 8)
    """
    if shape_spec is None:
        shape_spec = "..."
    if not isinstance(shape_spec, str):
        raise ShapeError(
            f"polymorphic shape spec should be None or a string. Found {shape_spec!r:.200}."
        )
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ShapeError("Cannot specify both a `scope` and `constraints`.")
    return parsed_shape(shape_spec, scope, like)


def symbolic_dim_bounds(dimension: Size) -> tuple[float, float]:
    """Return the least and the greatest value of a size that its constraints allow.

    They are -inf and inf where no bound is known.  Raises TypeError for what is no size.

    >>> (b,) = symbolic_shape("b", constraints=["b <= 8"])
    >>> symbolic_dim_bounds(2 * b + 1)
    (3, 17)
    """
    if isinstance(dimension, SymbolicDim):
        return dimension.scope.bounds(dimension)
    if isinstance(dimension, bool) or not isinstance(dimension, int):
        raise DTypeError(f"symbolic_dim_bounds needs an integer or a symbolic size: {dimension!r}")
    return dimension, dimension
