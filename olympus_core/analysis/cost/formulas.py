"""The cost of a program with symbolic sizes as formulas: polynomials in the variables.

The counts at several sizes determine the coefficients, and the counts at more sizes confirm them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from olympus_core.base.dimensions.expression import SymbolicDim
from olympus_core.base.dimensions.points import allowed_points
from olympus_core.base.dimensions.solving import Solution, bound_variables, evaluated
from olympus_core.base.errors import ShapeError

Sizes = Mapping[str, int]
Counts = Mapping[str, int | None]
#: the largest sum of the exponents of a term
_DEGREE = 4
_MAX_VARIABLES = 3
#: the number of points that confirm a formula
_CONFIRMING = 3


def formulas(
    solution: Solution, count: Callable[[Sizes], Counts], multiple: int = 1, degree: int = _DEGREE
) -> dict[str, str | None]:
    """Return the formula of each count; None if it is no polynomial of a degree up to `degree`.

    With `multiple`, the formulas are those for sizes that are multiples of it.

    `count` returns the counts at sizes of the variables of `solution`, as ints, or None for an
    unknown one.

    >>> formulas(solved(lowered.signature.in_avals), count)
    {'flops': '1024*b*d', 'bytes': '512*b + 1024*d'}
    """
    names = solution.variables
    if len(names) > _MAX_VARIABLES:
        return dict.fromkeys(count(next(allowed_points(solution)))) if names else {}
    powers = [
        p for p in itertools.product(range(degree + 1), repeat=len(names)) if sum(p) <= degree
    ]
    allowed = allowed_points(solution, multiple=multiple)
    points = list(itertools.islice(allowed, len(powers) + _CONFIRMING))
    counted = [count(point) for point in points]
    results: dict[str, str | None] = {}
    for key in counted[0]:
        values = [c[key] for c in counted]
        results[key] = _formula(solution, powers, points, values)
    return results


def _formula(
    solution: Solution,
    powers: Sequence[tuple[int, ...]],
    points: Sequence[dict[str, int]],
    values: Sequence[int | None],
) -> str | None:
    if None in values or len(points) < len(powers) + _CONFIRMING:
        return str(values[0]) if len(set(values)) == 1 and values[0] is not None else None
    rows = [[Fraction(_term(point, solution.variables, p)) for p in powers] for point in points]
    known = [Fraction(v) for v in values if v is not None]
    coefficients = _solved_system(rows[: len(powers)], known[: len(powers)])
    if coefficients is None or any(c.denominator != 1 for c in coefficients):
        return None
    for row, value in zip(rows, known, strict=True):
        if sum((c * x for c, x in zip(coefficients, row, strict=True)), Fraction(0)) != value:
            return None
    return _text(solution, powers, [int(c) for c in coefficients])


def _term(point: Sizes, names: Sequence[str], powers: Sequence[int]) -> int:
    return functools.reduce(
        lambda total, pair: total * point[pair[0]] ** pair[1], zip(names, powers, strict=True), 1
    )


def _text(
    solution: Solution, powers: Sequence[tuple[int, ...]], coefficients: Sequence[int]
) -> str:
    assert solution.scope is not None
    total: Any = 0
    variables = [SymbolicDim.variable(name, solution.scope) for name in solution.variables]
    for p, k in zip(powers, coefficients, strict=True):
        term: Any = k
        for variable, power in zip(variables, p, strict=True):
            term = term * variable**power
        total = total + term
    return str(total)


def _solved_system(
    rows: Sequence[Sequence[Fraction]], values: Sequence[Fraction]
) -> list[Fraction] | None:
    """Return the solution of linear equations; None if they have several."""
    table = [[*row, value] for row, value in zip(rows, values, strict=True)]
    for i in range(len(table)):
        pivot = next((k for k in range(i, len(table)) if table[k][i]), None)
        if pivot is None:
            return None
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for k, row in enumerate(table):
            if k != i and row[i]:
                table[k] = [x - row[i] * y for x, y in zip(row, table[i], strict=True)]
    return [row[-1] for row in table]


def check_allowed_sizes(solution: Solution, sizes: Sizes) -> None:
    """Raise ShapeError if sizes do not fulfill the constraints of a program."""
    shapes = [tuple([evaluated(n, sizes) for n in shape]) for shape in solution.shapes]
    bound_variables(solution, shapes)
    if any(n < 1 for n in sizes.values()):
        raise ShapeError(f"a size is 1 or more, and is {dict(sizes)}")
