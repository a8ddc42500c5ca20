"""The programs that `python -m benchmarks.constant_factors` measures."""

from __future__ import annotations

import numpy as np
import pytest

import olympus as ox
from benchmarks import constant_factors
from benchmarks.constant_factors import perceptron, programs, recurrence, transformer
from olympus_core.xla.runtime.constant_factors import constant_products


@pytest.mark.parametrize(
    ("program", "products"),
    [
        (perceptron((8, 6, 4), 3), [(3, 8, 6), (3, 6, 4)]),
        (transformer(8, 2, 1, 5), [*[(5, 8, 8)] * 4, (5, 8, 32), (5, 32, 8)]),
        (recurrence(8, 3, 2), [(3, 16, 32)]),
    ],
)
def test_a_program_has_products_by_constants(
    program: constant_factors.Program, products: list[tuple[int, ...]]
) -> None:
    function, shape = program
    lowered = ox.jit(function).lower(ox.ShapeDtypeStruct(shape, "float32"))
    found = [(p.rows, p.depth, p.columns) for p in constant_products(lowered.module)]
    assert sorted(found) == sorted(products)
    assert np.all(np.isfinite(lowered.compile()(np.ones(shape, "float32"))))


def test_a_row_has_the_times_of_both() -> None:
    name = next(iter(programs()))
    cells = [cell.strip() for cell in constant_factors.row(name, 1, 3).split("|")]
    assert cells[1:3] == [name, "1"]
    assert all(float(cell) > 0 for cell in cells[3:5])
