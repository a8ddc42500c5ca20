"""Docstrings, comments, names and messages are plain English: see "Style" in CONTRIBUTING.md.

`python tests/structure/test_english.py FOLDER...` lists the faults of other folders.
"""

from __future__ import annotations

import ast
import functools
import io
import itertools
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
#: The folders whose names, messages and text are checked.
CLEAN = (
    "olympus_bundle",
    "olympus_runtime",
    "olympus",
    "olympus_core",
    "olympus_cli",
    "benchmarks",
    "examples",
    "tools",
    "tests",
)
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
#: Phrases that messages do not use, besides those of all text.
MESSAGE_PHRASES = re.compile(
    r"\b(there (?:is|are) (?:no|not|nothing)|there was no)\b", re.IGNORECASE
)
#: Words that are no part of a name: verbs of speech, and past participles that do not describe.
NAME_WORDS = frozenset(
    """
    tell tells told telling untold say says said saying ask asks asked asking lie lies lying
    stand stands standing stood made kept taken gone held alike remade
    """.split()  # noqa: SIM905
)
#: Files that list the banned words and phrases.
WORD_LISTS = (
    "tests/documents/test_docs_english.py",
    "tests/structure/test_english.py",
)
#: Names that a banned word is right in, by file: of Python, or of an interface that others define.
ALLOWED_NAMES: dict[str, tuple[str, ...]] = {
    # names that olympus.analysis exports
    "olympus_bundle/container.py": ("tell",),  # a method of files
    "olympus_runtime/buffers.py": ("kept_var_bitvec",),  # a name of jaxlib
    "olympus_core/analysis/hlo/cpu_peaks.py": ("Kept", "kept_peaks"),
    # a field of JAX's `Exported`
    "olympus_core/export/exported.py": ("module_kept_var_idx",),
    # a function of JAX
    "olympus/experimental/shard_alike.py": ("shard_alike",),
    "olympus_core/library/experimental/hints.py": ("shard_alike",),
}
#: Text in which a banned phrase is right, by file: a quotation without backquotes, or a fixed term.
ALLOWED: dict[str, tuple[str, ...]] = {}
#: Terms of JAX's messages, which ours contain.
TERMS = re.compile(
    r"problematic value is of type|There is no -> in rule|axis names that are of type"
    r"|axes of mesh are of type|mesh axes that is of type"
)
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


@functools.lru_cache(maxsize=1)
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Return the nodes of a module's syntax tree; the checks of one module share them."""
    return tuple(ast.walk(ast.parse(source)))


def docstrings(source: str) -> Iterator[Text]:
    """The docstrings of a module, its classes and its functions."""
    for node in nodes(source):
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
        sentences = TERMS.sub("x", " ".join(CODE.sub("x", words).split()))
        found += [f"{line}: uses {phrase[0]!r}" for phrase in PHRASES.finditer(sentences)]
    return found


def names(source: str) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines, each with its line."""
    for node in nodes(source):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


@functools.cache
def words_of(name: str) -> set[str]:
    """Return the words of a name.

    >>> sorted(words_of("_LinesKept"))
    ['kept', 'lines']
    """
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with at least three words, without docstrings."""
    described = {
        id(node.body[0].value)
        for node in nodes(source)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    parts = {
        id(part)
        for node in nodes(source)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in nodes(source):
        if id(node) in described | parts:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values
            )
        else:
            continue
        if len(text.split()) > 2:
            yield node.lineno, text


def name_faults(source: str, allowed: tuple[str, ...] = ()) -> list[str]:
    """Return the faults of a module's names and messages, one line each."""
    found = [
        f"{line}: the name {name!r} has {word!r}"
        for line, name in names(source)
        if name not in allowed
        for word in sorted(words_of(name) & NAME_WORDS)
    ]
    for line, text in messages(source):
        sentence = TERMS.sub("x", " ".join(CODE.sub("x", text).split()))
        for phrases in (PHRASES, MESSAGE_PHRASES):
            found += [
                f"{line}: a message uses {phrase[0]!r}" for phrase in phrases.finditer(sentence)
            ]
    return sorted(set(found), key=lambda fault: int(fault.partition(":")[0]))


@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES}), ids=relative)
def test_the_words_of_a_folder_are_plain(folder: Path) -> None:
    found: list[str] = []
    for path in FILES:
        if path.parent != folder:
            continue
        name, source = relative(path), path.read_text(encoding="utf-8")
        of_file = faults(source, ALLOWED.get(name, ()))
        if name not in WORD_LISTS:
            of_file += name_faults(source, ALLOWED_NAMES.get(name, ()))
        found += [f"{name}:{fault}" for fault in of_file]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "lines_kept = 1",
        "def tell(x): ...",
        "class WhatIsTold: ...",
        "def f(say): ...",
        "raise E(f'{x} tells us that {y}')",
        "raise E('there is no target of this name')",
    ],
)
def test_a_fault_of_a_name_or_message_is_found(source: str) -> None:
    assert name_faults(source)


def test_plain_names_and_messages_have_no_fault() -> None:
    assert name_faults("thousand = f'{x}: the file is missing'  # `keep_made`") == []


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


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        for path in sorted(Path(folder).rglob("*.py")) or [Path(folder)]:
            source = path.read_text(encoding="utf-8")
            for fault in (*faults(source), *name_faults(source)):
                sys.stdout.write(f"{path}:{fault}\n")
