"""The parameters of a test that run by day; the others run at night, with `pytest --night`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest

__all__ = ["by_day", "diagonals"]


def by_day(values: Iterable[Any], day: Collection[Any]) -> list[Any]:
    """Return the parameters of a test: those in `day` run by day, and all at night."""
    return [pytest.param(v, marks=() if v in day else pytest.mark.night) for v in values]


def diagonals(rows: Iterable[Any], columns: Iterable[Any], step: int) -> list[Any]:
    """Return the pairs of two parameters of a test: all at night, and one of `step` by day.

    A row runs by day with every `step`th column, and a column with every `step`th row.
    """
    return [
        pytest.param(row, column, marks=() if (i + j) % step == 0 else pytest.mark.night)
        for (i, row), (j, column) in product(enumerate(rows), enumerate(columns))
    ]
