"""The width of output to a pipe is COLUMNS, if the environment has it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from olympus_cli.reports.charts import bars
from olympus_cli.terminal import console
from olympus_cli.terminal.tables import fitted, shortened

COLUMNS = ("metric", "figure")
ROWS = [("a word and another one, and so on", "x" * 20), ("b", "y")]


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    console.table(COLUMNS, ROWS, "a title")
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", [None, "", "wide", "-60"])
def test_lines_in_a_pipe_are_not_folded(
    columns: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert console.width() == 240
    assert len(lines(capsys)) == 4


def test_a_pipe_has_the_width_of_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "45")
    assert console.width() == 45
    output = lines(capsys)
    assert len(output) > 4 and max(map(len, output)) <= 45
    assert len(console.table_text(COLUMNS, ROWS).splitlines()) == 3, "a file is not folded"


def test_a_row_that_is_too_wide_is_a_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "5")
    assert console.width() == 40, "a narrower table is not changed"
    console.table(("one", "two"), [("x" * 30, "y" * 30)])
    assert capsys.readouterr().out.splitlines() == ["one  " + "x" * 30, "two  " + "y" * 30]


def test_lines_are_folded_beneath_their_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "  flops           at least 173 M, in products and so on\n  - " + "word " * 12 + "\n\nend"
    )
    console.prose(text)
    assert capsys.readouterr().out == text + "\n", "lines in a pipe are not folded"
    monkeypatch.setenv("COLUMNS", "40")
    console.prose(text + "\n\x1b[2J " + "x" * 50 + " ::error::1")
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 40
    assert "\x1b" not in output and "\n::error" not in output
    folded = output.splitlines()
    assert folded[:2] == [
        "  flops           at least 173 M, in",
        " " * 18 + "products and so on",
    ]
    assert folded[3] == "    " + " ".join(["word"] * 5)
    assert folded[4:6] == ["", "end"]


def test_a_table_of_text_is_folded_to_its_width() -> None:
    assert console.table_lines(COLUMNS, ROWS, 240) == console.table_text(COLUMNS, ROWS).splitlines()
    assert max(map(len, console.table_lines(COLUMNS, ROWS, 45))) <= 45
    assert console.table_lines(COLUMNS, ROWS, 28)[:2] == [
        "a word and another one, and",
        "so on",
    ]


CHECK = ("target", "backend", "budget", "figure", "limit", "verdict")


def _check_rows(*targets: str, verdict: str = "kept") -> list[tuple[str, ...]]:
    return [
        (target, "cpu", key, f"{size}.00 KiB", f"{size}00 MB", verdict)
        for target in targets
        for size, key in enumerate(("flops", "bytes", "temporary-memory", "peak-memory"), 1)
    ]


def test_a_name_is_shortened_in_its_middle() -> None:
    assert shortened("mlp", 19) == "mlp"
    assert [len(shortened("x" * 60, width)) for width in (19, 20, 40)] == [19, 20, 40]
    long = "unet_long_name_of_the_network_predict@batch="
    table = fitted(CHECK, _check_rows(f"{long}1", f"{long}32"), 80)
    names = list(dict.fromkeys(row[0] for row in table.rows))
    assert names == ["unet_long_n...dict@batch=1", "unet_long_n...ict@batch=32"]
    assert fitted(CHECK, _check_rows(f"{long}1"), 240).rows[0][0] == f"{long}1"


def test_names_are_not_shortened_to_equal_ones() -> None:
    names = [f"{'a' * 30}{i}{'b' * 30}" for i in range(2)]
    table = fitted(("name", "value"), [(name, "1") for name in names], 60)
    assert table.rows == () and [line for line in table.head if line in names] == []
    text = "\n".join(console.table_lines(("name", "value"), [(n, "1") for n in names], 70))
    assert all(name in text for name in names)


def test_a_narrow_table_has_constant_columns_above(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    console.table(CHECK, _check_rows("mlp"))
    assert capsys.readouterr().out.splitlines() == [
        "target   mlp",
        "backend  cpu",
        "verdict  kept",
        "",
        "budget            figure    limit",
        "flops             1.00 KiB  100 MB",
        "bytes             2.00 KiB  200 MB",
        "temporary-memory  3.00 KiB  300 MB",
        "peak-memory       4.00 KiB  400 MB",
    ]


def test_a_row_of_a_narrow_table_is_a_block(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    console.table(CHECK, [*_check_rows("mlp"), *_check_rows("x" * 60, verdict="broken")])
    output = capsys.readouterr().out.splitlines()
    assert max(map(len, output)) <= 40 and len(output) < 35
    assert output[:5] == [
        "backend  cpu",
        "",
        "mlp",
        "  budget flops  figure 1.00 KiB",
        "  limit 100 MB  verdict kept",
    ]
    assert "x" * 18 + "..." + "x" * 19 in output


def test_a_title_has_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    title = "a title of many words that is longer than the table under it"
    console.table(("a", "b"), [("1", "2")], title)
    assert capsys.readouterr().out.splitlines()[0] == title
    monkeypatch.setenv("COLUMNS", "80")
    console.table(("a", "b"), [("1", "2")], title)
    assert capsys.readouterr().out.splitlines()[0] == title
    monkeypatch.setenv("COLUMNS", "40")
    console.table(("a", "b"), [("1", "2")], title)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "a title of many words that is longer",
        "than the table under it",
    ]


LONG = [f"{'a' * 60}_{end}" for end in ("first", "second")]


@pytest.mark.parametrize("width", range(40, 101))
def test_names_of_a_table_are_on_one_line_at_every_width(width: int) -> None:
    rows = [
        (LONG[0], "cpu", "flops", "128", "1.00 M", "kept"),
        (LONG[1], "cpu", "flops", "128", "10", "broken"),
    ]
    output = console.table_lines(CHECK, rows, width)
    assert max(map(len, output)) <= width
    names = [line.split()[0] for line in output if line.startswith("aaa")]
    assert len(names) == 2
    assert names[0].endswith("_first") and names[1].endswith("_second")


def test_only_text_is_folded_beside_a_shortened_name() -> None:
    rows = [(name, "a reason of so many words", "1.00 KiB") for name in LONG]
    assert console.table_lines(("target", "why", "figure"), rows, 46)[-3:] == [
        "aaaaaaaaa...aaa_second  a reason of   1.00 KiB",
        "                        so many",
        "                        words",
    ]


@pytest.mark.parametrize("width", range(40, 101))
def test_a_title_shortens_names_and_breaks_no_word(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for name in LONG:
        console.table(("a", "b"), [("1", "2")], f"{name}  (model:forward, cpu)")
        output = capsys.readouterr().out.splitlines()[:-2]
        assert max(map(len, output)) <= width
        first, *others = " ".join(output).split()
        assert others == ["(model:forward,", "cpu)"]
        assert first.startswith("aaaa") and first.endswith(name[-7:])


def test_a_list_shortens_a_long_name() -> None:
    output = console.table_lines(("target", "path"), [(LONG[0], "/" * 30)], 40)
    assert output == ["target  aaaaaaaaaaaaaa...aaaaaaaaa_first", "path    " + "/" * 30]


def test_characters_beyond_ascii_have_an_ascii_form(monkeypatch: pytest.MonkeyPatch) -> None:
    ascii_stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    monkeypatch.setattr("sys.stdout", ascii_stream)
    assert [bars.bar(share) for share in (0.0, 0.02, 0.5, 1.0)] == ["", "", "#" * 6, "#" * 12]
    monkeypatch.setattr(bars, "source_text", lambda key, root: "y = x @ w + b" * 9)
    _, rows = bars.with_source(("line",), [("a.py:1",)], Path())
    assert rows[0][1].isascii() and rows[0][1].endswith("...") and len(rows[0][1]) == 44
