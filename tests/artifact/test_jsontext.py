"""Indented JSON is the text that the encoder of Python writes."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olympus.artifact import indented

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
FINITE = SCALARS.filter(lambda x: not isinstance(x, float) or math.isfinite(x))
DATA = st.recursive(
    FINITE,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(DATA)
def test_the_text_is_that_of_json_dumps(data: Any) -> None:
    assert indented(data) == json.dumps(data, indent=2)
    assert indented(data, sort_keys=True) == json.dumps(data, indent=2, sort_keys=True)


def test_keys_are_converted_to_text() -> None:
    data = {1: 2, None: [], 2.5: {"a": {True: ()}}, "é\n": "\ud800"}
    assert indented(data) == json.dumps(data, indent=2)


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": [-math.inf]}])
def test_a_number_that_is_not_finite_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        indented(value)


@pytest.mark.parametrize("value", [{1, 2}, b"x", {"a": object()}, {(1, 2): 3}])
def test_values_without_a_json_form_are_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        indented(value)
