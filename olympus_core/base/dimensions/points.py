"""Sizes that fulfill the constraints on the variables of a program, small ones first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from olympus_core.base.dimensions.solving import Solution, evaluated

#: the sizes of each variable that are tried
_TRIED = 400


def allowed_points(
    solution: Solution, given: Mapping[str, int] | None = None, *, multiple: int = 1
) -> Iterator[dict[str, int]]:
    """Yield sizes of the variables that fulfill the constraints, small ones first.

    Variables in `given` have these values only; the others are multiples of `multiple`.
    """
    names = solution.variables
    given = given or {}
    axes = [
        [given[name]]
        if name in given
        else [n for n in range(multiple, _TRIED, multiple) if is_allowed(solution, {name: n})]
        for name in names
    ]
    for total in range(sum(map(len, axes))):
        for places in itertools.product(range(total + 1), repeat=len(names)):
            if sum(places) != total or any(
                i >= len(axis) for i, axis in zip(places, axes, strict=True)
            ):
                continue
            point = {n: axis[i] for n, axis, i in zip(names, axes, places, strict=True)}
            if is_allowed(solution, point):
                yield point


def is_allowed(solution: Solution, point: Mapping[str, int]) -> bool:
    """Return True if sizes fulfill the constraints on these variables."""
    scope = solution.scope
    for constraint in scope.constraints if scope is not None else ():
        difference = constraint.difference
        if isinstance(difference, int) or not set(difference.variables()) <= set(point):
            continue
        found: Any = evaluated(difference, point)
        if found < 0 or (constraint.is_equality and found):
            return False
    return True
