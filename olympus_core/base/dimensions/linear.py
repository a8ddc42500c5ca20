"""The least value of a linear form under linear inequalities, by the simplex method.

The numbers are fractions, so that the result is exact.  The forms have few terms: those of the
sizes in a program and of the constraints on them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

#: A linear form: the coefficient of each unknown, and the constant.
Form = tuple[Mapping[Hashable, int], int]
_MAX_STEPS = 200
_DONE, _ENDLESS, _CUT = "done", "endless", "cut"


def least_of_form(objective: Form, rows: Sequence[Form]) -> Fraction | float | None:
    """Return the least value of a form where each of the `rows` is at least 0.

    Return None if the form has no least value there, or none that was found, and infinity if the
    rows exclude each other.

    The program solved is the dual: the objective as a sum of rows with factors at least 0, and of
    the largest possible constant.

    >>> least_of_form(({"a": 2, "b": -1}, 0), [({"a": 1, "b": -1}, 0), ({"b": 1}, -3)])
    Fraction(3, 1)
    """
    coefficients, constant = objective
    unknowns = list(dict.fromkeys([x for form, _ in rows for x in form]))
    if any(k and x not in set(unknowns) for x, k in coefficients.items()):
        return None
    table = _table(coefficients, rows, unknowns)
    width = len(rows)
    basis = [width + i for i in range(len(unknowns))]  # artificial variables
    phase_one = [Fraction(0)] * width + [Fraction(1)] * len(unknowns)
    if _minimize(table, basis, phase_one, len(phase_one)) != _DONE:
        return None
    if sum(table[i][-1] for i, b in enumerate(basis) if b >= width) > 0:
        return None  # the objective is not a sum of rows: it has no least value
    _remove_artificial(table, basis, width)
    costs = [Fraction(d) for _, d in rows] + [Fraction(0)] * len(unknowns)
    end = _minimize(table, basis, costs, width)
    if end != _DONE:
        return math.inf if end == _ENDLESS else None
    total = sum((costs[b] * table[i][-1] for i, b in enumerate(basis)), Fraction(0))
    return Fraction(constant) - total


def _table(
    coefficients: Mapping[Hashable, int], rows: Sequence[Form], unknowns: Sequence[Hashable]
) -> list[list[Fraction]]:
    """Return an equation for each unknown: the rows' coefficients, artificial ones, the target."""
    table = []
    for i, x in enumerate(unknowns):
        target = coefficients.get(x, 0)
        sign = -1 if target < 0 else 1
        line = [Fraction(sign * form.get(x, 0)) for form, _ in rows]
        line += [Fraction(i == k) for k in range(len(unknowns))]
        table.append([*line, Fraction(sign * target)])
    return table


def _minimize(
    table: list[list[Fraction]], basis: list[int], costs: Sequence[Fraction], width: int
) -> str:
    """Minimize the costs over the first `width` variables; return how it ended."""
    for _ in range(_MAX_STEPS):
        entering = _entering(table, basis, costs, width)
        if entering is None:
            return _DONE
        ratios = [
            (line[-1] / line[entering], basis[i], i)
            for i, line in enumerate(table)
            if line[entering] > 0
        ]
        if not ratios:
            return _ENDLESS
        _pivot(table, min(ratios)[2], entering)
        basis[min(ratios)[2]] = entering
    return _CUT


def _remove_artificial(table: list[list[Fraction]], basis: list[int], width: int) -> None:
    """Replace artificial variables in the basis, which are 0, and remove redundant equations."""
    for i in reversed(range(len(basis))):
        if basis[i] < width:
            continue
        column = next((j for j in range(width) if table[i][j] and j not in basis), None)
        if column is None:
            del table[i], basis[i]
        else:
            _pivot(table, i, column)
            basis[i] = column


def _entering(
    table: list[list[Fraction]], basis: list[int], costs: Sequence[Fraction], width: int
) -> int | None:
    """Return the first variable that reduces the costs (Bland's rule, which does not cycle)."""
    weights = [(costs[b], table[i]) for i, b in enumerate(basis) if costs[b]]
    for j in range(width):
        if j not in basis and costs[j] < sum((c * line[j] for c, line in weights), Fraction(0)):
            return j
    return None


def _pivot(table: list[list[Fraction]], row: int, column: int) -> None:
    pivot = table[row][column]
    table[row] = line = [x / pivot for x in table[row]]
    for i, other in enumerate(table):
        factor = other[column]
        if i != row and factor:
            table[i] = [x - factor * y for x, y in zip(other, line, strict=True)]
