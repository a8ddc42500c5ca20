"""The documents are correct: their blocks run, and their excerpts and links exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.documents import (
    DOCUMENTS,
    LANGUAGES,
    ROOT,
    blocks,
    check_console,
    check_python,
    environment,
    pattern,
    read,
    workplace,
)
from tests.documents.preloaded import preloaded
from tools.site import api

#: Documents whose blocks in Python, C, Rust or Go another test runs.
TESTED_ELSEWHERE = {
    "docs/how-to/run-from-c.md": "tests/cli/export/test_c_documents.py",
    "docs/reference/bundle.md": "tests/artifact/test_bundle_docs.py",
    "docs/reference/olympus-toml.md": "tests/cli/frontends/test_statics.py",
}

#: Pages that are generated when the site is built.
GENERATED = {ROOT / "docs" / api.FOLDER / f"{name}.md" for name in api.packages()}

every_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix()
)
#: The documents as programs: the commands of one need PyTorch.
every_program = pytest.mark.parametrize(
    "document",
    [
        pytest.param(path, marks=pytest.mark.torch if path.stem == "torch" else ())
        for path in DOCUMENTS
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables with which `olympus` is a fork of a process with all imports."""
    with preloaded(tmp_path_factory.mktemp("documents"), environment()) as found:
        yield found


@every_program
def test_commands_print_what_is_shown(
    document: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    store = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    check_console(document, workplace(tmp_path), {**variables, **store})


@every_program
def test_python_sessions_print_what_is_shown(document: Path, tmp_path: Path) -> None:
    check_python(document, tmp_path)


@every_document
def test_excerpts_are_of_the_files_that_they_name(document: Path) -> None:
    for block in blocks(document):
        if block.language in ("python", "toml", "yaml") and block.note:
            assert block.text in read(ROOT / block.note), f"line {block.line}"


@every_document
def test_every_block_has_a_known_language(document: Path) -> None:
    name = document.relative_to(ROOT).as_posix()
    for block in blocks(document):
        assert block.language in LANGUAGES, f"line {block.line}"
        is_whole = block.language == "python" and ">>> " not in block.text and not block.note
        if is_whole or block.language in ("c", "rust", "go"):
            assert Path(ROOT / TESTED_ELSEWHERE[name]).is_file(), f"line {block.line} is not run"


@every_document
def test_links_lead_to_files(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", read(document))
    there = [(document.parent / link).resolve() for link in links]
    missing = [link for link in there if not link.exists() and link not in GENERATED]
    assert not missing


@every_document
def test_links_into_a_document_lead_to_headings(document: Path) -> None:
    for name, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", read(document)):
        there = document.parent / name if name else document
        headings = re.findall(r"^#+ (.*)$", read(there), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}
        assert anchor in anchors, f"{name}#{anchor}"


def test_the_readme_names_the_commands_that_the_whole_check_runs() -> None:
    script = read(ROOT / ".ci" / "run").replace(" --quiet", "")
    install = next(b.text for b in blocks(ROOT / "README.md") if b.language == "sh")
    for command in (
        "pip install . && olympus build --project examples/gpt",
        "pip install '.[test]' && pytest",
    ):
        assert command in install.splitlines()
        assert command in script


def test_the_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    rows = [line for line in read(ROOT / "README.md").splitlines() if line.endswith(") |")]
    measured = read(ROOT / "docs" / "explanation" / "benchmarks.md").splitlines()
    assert rows
    assert [row for row in rows if row not in measured] == []


def test_the_readme_is_short() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= 120


def test_the_readme_names_the_main_commands() -> None:
    text = read(ROOT / "README.md")
    for name in ("lower", "build", "cost", "compile", "run", "bench", "check", "verify", "diff"):
        assert f"olympus {name}" in text


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("took ... ms\n", "took 12.5 ms\n", True),
        ("took ... ms\n", "took 12.5 s\n", False),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nd\n", True),
        ("a\n...\nd\n", "a\nb\n", False),
        ("[x] (y)\n", "[x] (y)\n", True),
    ],
)
def test_dots_match_any_text(shown: str, output: str, same: bool) -> None:
    assert bool(pattern(shown).fullmatch(output)) == same
