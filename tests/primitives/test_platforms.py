"""Every primitive has a form on every platform, one without calls that the platform lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import olympus as ox
from tests.primitives.cases import CASES

#: the primitives that only LAPACK implements
ON_CPU = ("schur", "hessenberg", "tridiagonal")


@pytest.mark.parametrize("name", ON_CPU)
def test_primitives_of_lapack_alone_are_refused_elsewhere(name: str) -> None:
    traced = ox.jit(getattr(ox.lax.linalg, name)).trace(np.ones((2, 2), np.float32))
    with pytest.raises(ox.errors.LoweringError, match=f"{name} is implemented for the CPU"):
        traced.lower(ox.target("gpu", "h200"))


@pytest.mark.parametrize("target", [ox.target("gpu", "h200"), ox.target("tpu")], ids=["gpu", "tpu"])
def test_every_row_of_the_table_is_lowered(target: Any) -> None:
    for case in CASES:
        if case.primitive in ON_CPU:
            continue
        args = case.arrays(case.dtypes[0])
        traced = ox.jit(lambda *xs, case=case: case.call(ox.lax, *xs)).trace(*args)
        assert "lapack" not in traced.lower(target).as_text(), case.id
