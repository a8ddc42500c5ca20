"""`python -m benchmarks.calls`: its table, and one round of each row."""

from __future__ import annotations

import pytest

from benchmarks import calls


def test_the_table_has_microseconds_and_ratios() -> None:
    text = calls.table([("an array", (4e-6, 2e-6, 223.7e-6, 100e-6))])
    assert text.splitlines()[2] == "| an array | 4.00 | 2.00 | **2.00** | 224 | 100 | **2.24** |"


@pytest.mark.parametrize("row", list(calls.rows())[:4], ids=lambda row: row.name)
def test_a_row_is_measured(row: calls.Row) -> None:
    assert all(0 < seconds < 1 for seconds in calls.lowest(row, 1))
