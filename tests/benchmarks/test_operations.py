"""The benchmark of single operations: both frameworks are given the same, and a table comes out."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import olympus as ox
from benchmarks import operations
from benchmarks.operations import OPERATIONS, Operation, function_of, main


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_either_framework_gives_arrays_of_the_same_types(number: int) -> None:
    operation = OPERATIONS[number]
    ours, theirs = (
        framework.eval_shape(
            function_of(operation, framework),
            *[framework.ShapeDtypeStruct(shape, "float32") for shape in operation.shapes],
        )
        for framework in (ox, jax)
    )
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    if operation.of is not None:
        assert ours.shape == operation.shapes[operation.of]


def test_a_gradient_has_the_same_values() -> None:
    operation = Operation("its weights", lambda fw, x, w: x @ w, ((2, 3, 4), (4, 5)), 1)
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype("f4") for shape in operation.shapes)
    ours, theirs = (function_of(operation, framework)(x, w) for framework in (ox, jax))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_the_table_has_a_row_for_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Operation("sum", lambda fw, x: x.sum(), ((3, 2),))
    monkeypatch.setattr(operations, "OPERATIONS", (one, one))
    assert main(["--rounds", "1"]) == 0
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert [line.count("|") for line in (head, rule, *rows)] == [9, 9, 9, 9]
    assert rows[0].startswith("| sum | (3, 2) |")
