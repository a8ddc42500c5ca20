"""Sides that `olympus diff` cannot compare, including damaged and hostile files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Invoke


def test_a_target_without_a_build_is_an_error(work: Path, invoke: Invoke) -> None:
    result = invoke("diff", "forward")
    assert result.exit_code == 2
    assert "forward has not been built" in result.stderr
    assert "olympus build forward builds it" in result.stderr


@pytest.mark.parametrize(
    ("sides", "exit_code", "words"),
    [
        (("forwards", "forward"), 2, "no target is named 'forwards'"),
        (("none.mlir", "forward"), 2, "none.mlir cannot be read"),
        (("none.olympus", "forward"), 2, "cannot be read"),
        (("./empty", "forward"), 2, "is not a build's folder"),
        (("text.mlir", "forward"), 5, "text.mlir is not StableHLO"),
        (("bytes.mlirbc", "forward"), 5, "bytes.mlirbc is not StableHLO"),
        (("cut.mlirbc", "forward"), 5, "cut.mlirbc is not StableHLO"),
        (("zero.mlir", "forward"), 5, "no function"),
        (("text.olympus", "forward"), 5, "not an .olympus bundle"),
        (("text.mlir",), 2, "is one program, and two are compared"),
        (("/dev/null", "forward"), 2, "it is not a regular file"),
        (("forward", "forward", "--backend", "nowhere"), 2, "no backend is named 'nowhere'"),
    ],
)
def test_sides_that_cannot_be_compared_are_an_error(
    work: Path, invoke: Invoke, sides: tuple[str, ...], exit_code: int, words: str
) -> None:
    (work / "empty").mkdir()
    (work / "zero.mlir").write_bytes(b"")
    for name in ("text.mlir", "text.olympus"):
        (work / name).write_text("this is \x1b[31mnot\x1b[0m a program")
    (work / "bytes.mlirbc").write_bytes(b"\xff\xfe\x00\x01" * 100)
    if "cut.mlirbc" in sides:
        assert invoke("lower", "forward", "--format", "bytecode", "-o", "whole").exit_code == 0
        content = (work / "whole").read_bytes()
        (work / "cut.mlirbc").write_bytes(content[: len(content) // 2])
    result = invoke("diff", *sides)
    assert result.exit_code == exit_code, result.output
    assert words in result.stderr
    assert result.stdout == ""
    assert "\x1b" not in result.stderr


def test_a_file_that_is_too_large_is_not_read(work: Path, invoke: Invoke) -> None:
    with (work / "huge.mlir").open("wb") as file:
        file.truncate(2**31 + 1)  # a sparse file, which uses no disk
    result = invoke("diff", "huge.mlir", "forward")
    assert result.exit_code == 2
    assert "huge.mlir cannot be read: it is larger than 2147483648 bytes" in result.stderr


@pytest.mark.parametrize("name", ["program.stablehlo.mlir", "program.sources.json"])
@pytest.mark.usefixtures("built")
def test_a_changed_build_is_damaged(work: Path, invoke: Invoke, name: str) -> None:
    with (work / "build" / "forward" / name).open("a") as file:
        file.write(" ")
    result = invoke("diff", "forward")
    assert result.exit_code == 5
    assert f"build/forward/{name} is missing or has been changed" in result.stderr


@pytest.mark.usefixtures("built")
def test_a_damaged_report_is_an_error(work: Path, invoke: Invoke) -> None:
    (work / "build" / "forward" / "report.json").write_text("{")
    result = invoke("diff", "forward")
    assert result.exit_code == 5
    assert "report.json" in result.stderr
    assert "hint: olympus build writes the outputs of a target again" in result.stderr


def test_names_of_a_program_are_escaped(work: Path, invoke: Invoke) -> None:
    text = """
    func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32> {{jax.result_info = "a\\1B[31m<b>"}}) {{
      %0 = stablehlo.{} %x : tensor<2xf32> loc("m\\1B[2J<i>.py":3:1)
      return %0 : tensor<2xf32>
    }}"""
    (work / "a.mlir").write_text(text.format("tanh"))
    (work / "b.mlir").write_text(text.format("sine").replace("<b>", "<em>"))
    result = invoke("diff", "a.mlir", "b.mlir", "--html", "page.html")
    assert result.exit_code == 1
    assert "m\\u001b[2J<i>.py:3" in result.stdout
    page = (work / "page.html").read_text()
    assert "&lt;i&gt;.py:3" in page
    for shown in (result.stdout, result.stderr, page):
        assert "\x1b" not in shown
    assert "<i>" not in page and "<em>" not in page


def test_a_program_with_too_much_nesting_is_an_error(work: Path, invoke: Invoke) -> None:
    head, tail = '"stablehlo.case"(%i) ({', "}) : (tensor<i32>) -> ()"
    for depth in (150, 20_000):
        text = f"{head * depth} stablehlo.return {tail + ' stablehlo.return ' + tail}"
        body = head * depth + " stablehlo.return " + (tail + " stablehlo.return ") * depth
        text = (
            f"func.func @main(%i: tensor<i32>) {{ {body.removesuffix('stablehlo.return ')}return }}"
        )
        (work / "deep.mlir").write_text(text)
        result = invoke("diff", "deep.mlir", "forward")
        assert result.exit_code == 5, result.output
        assert len(result.stderr.splitlines()) <= 3
