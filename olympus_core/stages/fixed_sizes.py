"""The fixed sizes at which a program with symbolic sizes is compiled and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base.avals import shaped
from olympus_core.base.dimensions.points import allowed_points
from olympus_core.base.dimensions.scope import SymbolicScope
from olympus_core.base.dimensions.shapes import symbolic_shape
from olympus_core.base.dimensions.solving import evaluated, solved
from olympus_core.base.errors import UsageError


class FixedSizes(NamedTuple):
    """The values of the variables, and the shapes with these values."""

    sizes: dict[str, int]
    shapes: tuple[tuple[int, ...], ...]


def formula_value(text: str, sizes: Mapping[str, int]) -> int:
    """Return the value of a formula in symbolic sizes, such as "2*b*784 + 1000".

    Raises:
      UsageError: it has another variable than those of `sizes`.
      ShapeError: the text is not an expression.

    >>> formula_value("2*b + 1", {"b": 64})
    129
    """
    (formula,) = symbolic_shape(text)
    unknown = [n for n in _variables(formula) if n not in sizes]
    if unknown:
        known = ", ".join(sizes)
        raise UsageError(
            f"{text!r:.80} has {unknown[0]!r}, which is no symbolic size of the arguments",
            hint=f"the symbolic sizes are {known}" if known else "the arguments have fixed sizes",
        )
    return int(str(evaluated(formula, sizes)))


def _variables(size: Any) -> Sequence[str]:
    return () if isinstance(size, int) else tuple(dict.fromkeys(size.variables()))


def fixed_sizes(
    shapes: Sequence[Sequence[int | str]],
    constraints: Sequence[str] = (),
    given: Mapping[str, int] | None = None,
) -> FixedSizes:
    """Return values of the variables in symbolic shapes: those `given`, and the least others.

    A symbolic size is a text, such as "2*b". The values fulfill the constraints.

    Raises:
      UsageError: a variable of `given` is in no shape, or no values up to 399 of the other ones
        fulfill the constraints.
      ShapeError: a text is not an expression, or a variable cannot be solved from the shapes.

    >>> fixed_sizes([("b", 128), ("2*d",)], ["b % 8 == 0"], {"d": 5})
    FixedSizes(sizes={'b': 8, 'd': 5}, shapes=((8, 128), (10,)))
    """
    scope = SymbolicScope(constraints)
    symbolic: list[Any] = [
        symbolic_shape(", ".join(map(str, shape)), scope=scope) for shape in shapes
    ]
    solution = solved([shaped(shape, np.dtype("bool")) for shape in symbolic])
    values = dict(given or {})
    for name in values:
        if name not in solution.variables:
            known = ", ".join(solution.variables) or "none"
            raise UsageError(
                f"no shape has the symbolic size {name!r}", hint=f"the symbolic sizes are {known}"
            )
    point = next(allowed_points(solution, values), None)
    if point is None:
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        rules = " and ".join(scope.texts)
        what = f"the sizes {shown} do not fulfill" if values else "no sizes below 400 fulfill"
        raise UsageError(
            f"{what} the constraints {rules}",
            hint="give the sizes to compile it for: at = { b = 64 }" if not values else None,
        )
    sizes = {name: point[name] for name in solution.variables}
    fixed = [tuple([int(str(evaluated(n, sizes))) for n in shape]) for shape in symbolic]
    return FixedSizes(sizes, tuple(fixed))
