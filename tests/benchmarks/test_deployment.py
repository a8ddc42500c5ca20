"""`python -m benchmarks.deployment`: its table, and one round of all sides in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import deployment


def test_the_table_has_medians_and_rates() -> None:
    samples = {"first": [0.1, 0.2, 0.3], "memory": [1e8, 1e8, 1e8], "call": [1e-5, 2e-5, 2e-5]}
    assert deployment.table({"olympus_runtime": samples}).splitlines()[2] == (
        "| olympus_runtime | 200 ms (150 to 250) | 100 MB | 20 µs (15 to 20) | 50 |"
    )


@pytest.mark.night
def test_each_side_is_measured(tmp_path: Path) -> None:
    results = deployment.measure(tmp_path, 1, 10, None)
    assert list(results) == [*deployment.SIDES]
    for samples in results.values():
        assert [len(values) for values in samples.values()] == [1, 1, 1]
        assert all(value > 0 for values in samples.values() for value in values)
    assert list((tmp_path / "cache").iterdir())
