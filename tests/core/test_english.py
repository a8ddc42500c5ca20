"""Docstrings and comments are plain English: see "Style" in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
#: The folders whose text is checked.
CLEAN = ("olympus", "olympus_core", "olympus_cli")
#: Neither a docstring nor the description of a name after "#:" starts with one of these.
FIRST_WORDS = re.compile(
    r"(what|how|whether|that|which|where|who|whose|tell|say|ask|hold|stand|lie)s?\b", re.IGNORECASE
)
#: Words and phrases that the text does not use, wherever in a sentence.
PHRASES = re.compile(
    r"\b("
    r"tell|tells|told|telling|say|says|said|saying|ask|asks|asked|asking"
    r"|lie|lies|stand|stands|stood"
    r"|(?:hold|holds|held|holding)\b[^.]*?\bagainst"
    r"|(?:is|are) of|that which|those that|such as (?:is|are)|at once"
    r")\b",
    re.IGNORECASE,
)
#: Text in which a banned phrase is right, by file: a quotation without backquotes, or a fixed term.
ALLOWED: dict[str, tuple[str, ...]] = {}
#: Code and names, which are not sentences: ``x``, `x`, and the lines of a doctest session.
CODE = re.compile(r"``.*?``|`[^`]*`|^\s*(?:>>>|\.\.\.) .*$", re.DOTALL | re.MULTILINE)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


FILES = [path for folder in CLEAN for path in sorted((ROOT / folder).rglob("*.py"))]


class Text(NamedTuple):
    """A docstring, or the comments of consecutive lines."""

    line: int
    words: str
    is_description: bool  # of a module, class, function or name: a docstring or "#:"


def docstrings(source: str) -> Iterator[Text]:
    """The docstrings of a module, its classes and its functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = ast.get_docstring(node)
            if words:
                yield Text(node.body[0].lineno, words, is_description=True)


def comments(source: str) -> Iterator[Text]:
    """The comments of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {t.start[0]: t.string for t in tokens if t.type == tokenize.COMMENT}
    for start in sorted(line for line in lines if line - 1 not in lines):
        block = [lines[n] for n in itertools.takewhile(lines.__contains__, itertools.count(start))]
        words = "\n".join(line.lstrip("#:").strip() for line in block)
        yield Text(start, words, is_description=block[0].startswith("#:"))


def faults(source: str, allowed: tuple[str, ...] = ()) -> list[str]:
    """Return the faults of a module's text, one line each."""
    found: list[str] = []
    for line, words, is_description in (*docstrings(source), *comments(source)):
        if is_description and FIRST_WORDS.match(words):
            found.append(f"{line}: starts with {words.split()[0]!r}: {words.splitlines()[0]}")
        for quotation in allowed:
            words = words.replace(quotation, "")
        sentences = " ".join(CODE.sub("x", words).split())
        found += [f"{line}: uses {phrase[0]!r}" for phrase in PHRASES.finditer(sentences)]
    return found


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_docstrings_and_comments_are_plain(path: Path) -> None:
    name = relative(path)
    found = faults(path.read_text(encoding="utf-8"), ALLOWED.get(name, ()))
    assert not found, "\n".join(f"{name}:{fault}" for fault in found)


def test_every_exception_is_needed() -> None:
    for name, quotations in ALLOWED.items():
        source = (ROOT / name).read_text(encoding="utf-8")
        text = "\n".join(t.words for t in (*docstrings(source), *comments(source)))
        for quotation in quotations:
            assert quotation in text, f"{name} no longer has {quotation!r}"
            assert PHRASES.search(quotation), f"{quotation!r} has no banned phrase"


@pytest.mark.parametrize(
    "source",
    [
        '"""What a module has."""',
        'def f():\n    """Whether x is positive."""',
        'class A:\n    """Tells the cost."""',
        'def f():\n    """Return x.\n\n    The budget that it is\n    held against.\n    """',
        "x = 1  # the caller asks for it",
        "# the value lies\n# between 0 and 1\nx = 1",
        "#: it is\n#: of a block\nx = 1",
        "#: What a block returns\nx = 1",
        "x = 1  # those that are left",
    ],
)
def test_a_fault_is_found(source: str) -> None:
    assert faults(source)


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    """Return `told`, the count that ``say`` reports."""',
        'def f():\n    """Raise ValueError.\n\n    >>> say(1)\n    """',
        "x = 'those that'  # a string",
        "# There is one.\n\n# Of a block.\nx = 1",
    ],
)
def test_plain_text_has_no_fault(source: str) -> None:
    assert faults(source) == []


def test_an_allowed_quotation_is_no_fault() -> None:
    assert faults("x = 1  # 'the told one'", ("the told one",)) == []
