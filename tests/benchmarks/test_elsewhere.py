"""The comparison of both `jit` on programs of JAX."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from benchmarks import elsewhere


def test_table_of_one_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert elsewhere.main(["--rounds", "1", "--only", "perceptron forward"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("|") for line in lines] == [7] * len(lines)
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| perceptron forward",
        "| geometric mean of 1",
        "| most",
    ]


def test_there_are_twenty_programs() -> None:
    assert len(elsewhere.CASES) >= 20


@pytest.mark.parametrize("name", ["k-means", "Runge-Kutta", "Fourier transforms"])
def test_both_sides_compute_the_same(name: str) -> None:
    fresh, args = elsewhere.CASES[name]()
    ours, theirs = elsewhere.jit(fresh())(*args), jax.jit(fresh())(*args)
    for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)
