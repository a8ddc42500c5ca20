"""Numbers of any sign as JSON data: what the writer returns is read, and nothing else."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from olympus.files import Number, number, parse_json, typed

NUMBERS = [
    *(0, -3, 2**64, True, -1.5, -0.0, 1e308, math.inf, -math.inf, math.nan),
    *(1 + 2j, -2j, complex(math.nan, -math.inf), complex(-0.0, -0.0)),
]


@pytest.mark.parametrize("value", NUMBERS, ids=str)
def test_a_number_is_read_from_its_json(value: complex) -> None:
    data = number(value)
    assert typed(parse_json(json.dumps(data, allow_nan=False)), Number) == data
    assert str(data) == str(value)


@pytest.mark.parametrize("data", [None, "", "1.5", "infinity", "1 + 2j", [1], {}, math.nan, 1j])
def test_data_of_no_number_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"checks\[0\].error is not a number"):
        typed(data, Number, "checks[0].error")


def test_a_number_may_be_none() -> None:
    assert typed(None, Number | None) is None
    assert typed("-inf", Number | None) == "-inf"
