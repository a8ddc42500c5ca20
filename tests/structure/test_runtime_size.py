"""The packages of `olympus-runtime` are small enough to read."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The most lines of code; docs/explanation/design.md has the same numbers.
MOST = {"olympus_runtime": 1000, "olympus_bundle": 1800}
_NO_CODE = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
)


def code_lines(text: str) -> int:
    """Return the number of lines that are not empty, a comment, or part of a docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Module(body=[ast.Expr(ast.Constant(str())) as doc, *_])
                | ast.ClassDef(body=[ast.Expr(ast.Constant(str())) as doc, *_])
                | ast.FunctionDef(body=[ast.Expr(ast.Constant(str())) as doc, *_])
            ):
                lines -= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
    return len(lines)


def test_lines_of_code_are_counted() -> None:
    lines = ('"""A module."""', "", "# a comment", "X = 1", "", "def f():")
    text = "\n".join((*lines, '    """Return."""', "    return (", "        X", "    )", ""))
    assert code_lines(text) == 5


@pytest.mark.parametrize("package", MOST)
def test_a_package_is_small(package: str) -> None:
    files = (ROOT / package).rglob("*.py")
    assert sum(code_lines(path.read_text(encoding="utf-8")) for path in files) < MOST[package]


@pytest.mark.parametrize("package", MOST)
def test_the_limit_is_documented(package: str) -> None:
    text = (ROOT / "docs/explanation/design.md").read_text(encoding="utf-8")
    assert f"`{package}` has fewer than {MOST[package]:,} lines of code" in " ".join(text.split())
