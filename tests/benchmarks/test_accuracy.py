"""The table of the errors of special functions is true, and has all of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import accuracy
from benchmarks.accuracy import REDUCTIONS, ROWS, SHORT_POINTS, Row, errors, main
from olympus_core.base.lazy_modules import api

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "accuracy.md"
#: Other intermediate results are rounded by the tests' less optimized code, which has no fused
#: multiplications and additions, and by other processors.
MARGIN = 2.5, 1.0


def documented() -> dict[tuple[str, str], list[str]]:
    """The cells of the table by the function and the range of its arguments."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {(row[0].strip("`"), row[1]): row[2:] for row in cells}


def test_every_special_function_has_a_row() -> None:
    assert {row.name for row in ROWS} | {*REDUCTIONS} == {*api()["olympus.scipy.special"]}
    assert [*documented()] == [(row.title, row.ranges) for row in ROWS]
    assert f"{accuracy.POINTS} points" in PAGE.read_text("utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.title} {row.ranges}")
def test_the_errors_are_at_most_those_of_the_page(row: Row) -> None:
    cells = documented()[row.title, row.ranges]
    factor, more = MARGIN
    for dtype, cell in zip(("float32", "float64"), (cells[0], cells[2]), strict=True):
        found = errors(row, "OLYMPUS", dtype, SHORT_POINTS)
        assert len(found) > SHORT_POINTS // 2
        assert max(found) <= factor * float(cell) + more, dtype


#: the functions that the page names with a larger error than JAX's, and the dtypes
LARGER = {("hyp2f1", 2), ("sph_harm_y", 2), ("i1", 0), ("sici[0]", 2)}


def test_the_errors_are_at_most_those_of_jax() -> None:
    found = set()
    for (title, _), cells in documented().items():
        for mine, other in ((0, 1), (2, 3)):
            if cells[other] not in ("-", "NaN") and float(cells[mine]) > float(cells[other]):
                found.add((title, mine))
    assert found == LARGER
    last = PAGE.read_text("utf-8").splitlines()[-2:]
    assert all(f"`{title}`" in " ".join(last) for title, _ in LARGER)


def test_an_error_is_counted_in_units_in_the_last_place(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = (row for row in ROWS if row.name == "xlogy")
    assert max(errors(row, "OLYMPUS", "float32", 10)) < 2

    def coarse(*values: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return np.float32(np.float16(values[0] * np.log(values[1])))

    monkeypatch.setattr(accuracy.olympus.scipy.special, "xlogy", coarse)
    assert 100 < max(errors(row, "OLYMPUS", "float32", 10)) < 1e5
    monkeypatch.setattr(accuracy.olympus.scipy.special, "xlogy", lambda x, y: x * np.nan)
    assert max(errors(row, "OLYMPUS", "float32", 10)) == np.inf


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--short", "entr", "xlogy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert re.fullmatch(r"\| `entr` \| 0\.001 to 100( \| [0-9.]+){5} \|", lines[2])
