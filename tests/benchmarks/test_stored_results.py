"""The benchmark of the store of results: its table, and that it runs."""

from __future__ import annotations

import pytest

from benchmarks import stored_results


def test_a_row_has_the_medians_and_the_ratio_within_pairs() -> None:
    pairs = {step: [(1.0, 2.0), (3.0, 4.0), (2.0, 8.0)] for step in stored_results.STEPS}
    first, *others = stored_results.rows(2, 64, pairs)
    assert first.endswith("| 2.00 s | 4.00 s | 0.50 (0.38 to 0.62) |")
    assert "2 layers of width 64: first build, empty store" in first
    assert len(others) == 3


@pytest.mark.night
def test_a_short_measurement_has_all_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert stored_results.main(["--short"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(stored_results.STEPS)
