"""Documents and configuration files are plain English: see "Style" in CONTRIBUTING.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").glob("*.md"),
        *ROOT.glob("*.toml"),
        ROOT / "olympus.toml.example",
        ROOT / ".pre-commit-hooks.yaml",
        *(ROOT / "ci").rglob("*.y*ml"),
        *(ROOT / "tools").rglob("*.toml"),
        *(ROOT / "docs").rglob("*.toml"),
        *(ROOT / "examples").glob("*/*.toml"),
    ]
)

#: A space between two words, which may be at the end of a line but not of a paragraph.
_SPACE = r"(?: |\n(?![\n|]))+"
#: Words and phrases that the text does not use: verbs of speech, and inversions.
PHRASES = re.compile(
    (
        r"\b("
        r"tell|tells|told|telling|say|says|said|saying|ask|asks|asked|asking"
        r"|lie|lies|lying|stand|stands|stood|standing|untold|remade|alike|anew"
        r"|(?:hold|holds|held|holding)\b[^.|]{,60}?\bagainst"
        r"|(?:is|are) of|that which|those that|such as (?:is|are)|what there (?:is|are)"
        r"|at once|of its own accord|whatever the|(?:see|sees) to|is all (?:that|it)"
        r"|there (?:is|are) (?:no|not|nothing)|there was no"
        r")\b"
    ).replace(" ", _SPACE),
    re.IGNORECASE,
)
#: Text in which a banned phrase is right, by file: a quotation, or a fixed term.
ALLOWED: dict[str, tuple[str, ...]] = {}

#: Not prose in Markdown: code blocks, generated sections (a lint checks their sources), comments,
#: `code`, and the targets of links.
_NOT_PROSE = re.compile(
    r"^(?P<indent> *)```.*?^(?P=indent)```$"
    r"|^<!-- (?P<name>[^/\n]*?) -->\n.*?^<!-- /(?P=name) -->"
    r"|<!--.*?-->"
    r"|``.*?``|`[^`\n]*(?:\n[^`\n]+)?`"
    r"|(?<=\])\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)
_STRING = re.compile(r""""(?:\\.|[^"\\])*"|'[^']*'""")
#: A key whose value is a sentence: of YAML, and of olympus_cli/spec/keys.toml.
_SENTENCE = re.compile(r"^\s*(?:- )?(?:description: |name: |meaning = |default = )(.*)$")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(name: str, text: str) -> str:
    """Return the sentences of a file, each at its line."""
    if name.endswith(".md"):
        return _NOT_PROSE.sub(lambda match: "x" + "\n" * match[0].count("\n"), text)
    return "\n".join(sentence_of_line(line) for line in text.splitlines())


def sentence_of_line(line: str) -> str:
    """Return the comment or the description of a line of TOML or YAML, or ""."""
    sentence = _SENTENCE.match(line)
    text = sentence[1] if sentence else _STRING.sub("x", line).partition("#")[2]
    return _NOT_PROSE.sub("x", text)


def faults(name: str, text: str, allowed: tuple[str, ...] = ()) -> list[str]:
    """Return the banned phrases of a file, each with its line."""
    for quotation in allowed:
        text = text.replace(quotation, "x" + "\n" * quotation.count("\n"))
    sentences = prose(name, text)
    return [
        f"{name}:{sentences.count(chr(10), 0, phrase.start()) + 1}: uses {phrase[0]!r}"
        for phrase in PHRASES.finditer(sentences)
    ]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_documents_and_configuration_files_are_plain(path: Path) -> None:
    name = relative(path)
    found = faults(name, path.read_text(encoding="utf-8"), ALLOWED.get(name, ()))
    assert not found, "\n".join(found)


def test_every_exception_is_needed() -> None:
    for name, quotations in ALLOWED.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for quotation in quotations:
            assert quotation in text, f"{name} no longer has {quotation!r}"
            assert PHRASES.search(quotation), f"{quotation!r} has no banned phrase"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.md", "# A\n\nThe report tells the cost.\n", 3),
        ("a.md", "The figures\nare\nof two kinds.\n", 2),
        ("a.md", "| a |\n| --- |\n| the file that it lies in |\n", 3),
        ("a.md", "```text\nsay\n```\n\nThere is no file.\n", 5),
        ("a.md", "Budgets that it holds the program\nagainst.\n", 1),
        ("a.toml", 'a = "x"\n\nb = 1  # at once\n', 3),
        ("a.toml", "# a file, of those\n# that remain\n", 1),
        ("a.yml", "on:\n  description: What it says.\n", 2),
        ("a.toml", 'meaning = "The one that it stands for."\n', 1),
    ],
)
def test_a_fault_is_found(name: str, text: str, line: int) -> None:
    (fault,) = faults(name, text)
    assert fault.startswith(f"{name}:{line}: ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "```console\n$ say told\n```\n\nThe flag `--tell` and [a link](say.md).\n"),
        ("a.md", "<!-- options x -->\n| Say it. |\n<!-- /options x -->\n"),
        ("a.md", "The rule is\n\nof one kind\n"),
        ("a.toml", 'say = "# told"  # the `ask`\n'),
        ("a.yml", 'run: echo "says"\n'),
    ],
)
def test_plain_text_has_no_fault(name: str, text: str) -> None:
    assert faults(name, text) == []


def test_an_allowed_quotation_is_no_fault() -> None:
    assert faults("a.md", "A file 'that is told'.", ("that is told",)) == []
