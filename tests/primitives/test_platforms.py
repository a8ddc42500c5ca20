"""Every primitive has a form on every platform, one without calls that the platform lacks."""

from __future__ import annotations

from typing import Any

import pytest

import olympus as ox
from tests.primitives.cases import CASES


@pytest.mark.parametrize("target", [ox.target("gpu", "h200"), ox.target("tpu")], ids=["gpu", "tpu"])
def test_every_row_of_the_table_is_lowered(target: Any) -> None:
    for case in CASES:
        args = case.arrays(case.dtypes[0])
        traced = ox.jit(lambda *xs, case=case: case.call(ox.lax, *xs)).trace(*args)
        assert "lapack" not in traced.lower(target).as_text(), case.id
