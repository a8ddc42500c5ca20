"""Numbers of any sign as JSON data: what the writer returns is read, and nothing else."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from olympus.files import Number, number, parse_json, typed
from olympus_bundle.errors import DataError

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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' is repeated"),
        ("[1, 1e999]", "the number 1e999 is out of range"),
        ("[NaN]", "JSON has no NaN"),
        ('["\\ud800"]', "a text that is not Unicode: surrogates not allowed"),
        ('["\ud800"]', "a text that is not Unicode: surrogates not allowed"),
        (b'["\xed\xa0\x80"]', "a text that is not Unicode: invalid continuation byte"),
        ("[" * 100_000, "it is nested too deeply to be read"),
        ("[1", "Expecting ',' delimiter"),
    ],
)
def test_a_document_that_is_not_strict_json_is_an_error(content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_json(content)


@pytest.mark.parametrize(
    "content",
    ['["\\ud83d\\ude00"]', '["\U0001f600"]'.encode(), b'\xef\xbb\xbf["\xf0\x9f\x98\x80"]'],
)
def test_a_character_of_two_surrogates_is_read(content: str | bytes) -> None:
    assert parse_json(content) == ["\U0001f600"]
