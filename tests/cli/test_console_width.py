"""The width of what is written to a pipe: that of COLUMNS, where the environment has it."""

from __future__ import annotations

import pytest

from olympus_cli import console

COLUMNS = ("metric", "figure")
ROWS = [("a word and another one, and so on", "x" * 20), ("b", "y")]


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    console.table(COLUMNS, ROWS, "a title")
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("asked", [None, "", "wide", "-60"])
def test_a_pipe_is_as_wide_as_what_goes_to_it(
    asked: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if asked is not None:
        monkeypatch.setenv("COLUMNS", asked)
    assert console.width() == 240
    assert len(lines(capsys)) == 4


def test_a_pipe_has_the_width_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "45")
    assert console.width() == 45
    found = lines(capsys)
    assert len(found) > 4 and max(map(len, found)) <= 45
    assert len(console.table_text(COLUMNS, ROWS).splitlines()) == 3, "a file is not folded"


def test_a_row_that_does_not_fit_is_a_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "5")
    assert console.width() == 40, "what is narrower is not narrowed"
    console.table(("one", "two"), [("x" * 30, "y" * 30)])
    assert capsys.readouterr().out.splitlines() == ["one  " + "x" * 30, "two  " + "y" * 30]


def test_lines_are_folded_beneath_their_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "  flops           at least 173 M, in products and so on\n  - " + "word " * 12 + "\n\nend"
    )
    console.prose(text)
    assert capsys.readouterr().out == text + "\n", "a pipe is as wide as what goes to it"
    monkeypatch.setenv("COLUMNS", "40")
    console.prose(text + "\n\x1b[2J " + "x" * 50 + " ::error::1")
    found = capsys.readouterr().out
    assert max(map(len, found.splitlines())) <= 40
    assert "\x1b" not in found and "\n::error" not in found
    folded = found.splitlines()
    assert folded[:2] == [
        "  flops           at least 173 M, in",
        " " * 18 + "products and so on",
    ]
    assert folded[3] == "    " + " ".join(["word"] * 5)
    assert folded[4:6] == ["", "end"]


def test_a_table_of_text_is_folded_to_its_width() -> None:
    assert console.table_lines(COLUMNS, ROWS, 240) == console.table_text(COLUMNS, ROWS).splitlines()
    assert max(map(len, console.table_lines(COLUMNS, ROWS, 45))) <= 45
    assert console.table_lines(COLUMNS, ROWS, 20)[:2] == [
        f"metric  {ROWS[0][0]}",
        "figure  " + "x" * 20,
    ]
