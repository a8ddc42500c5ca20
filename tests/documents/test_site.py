"""The documentation site: its pages, what is written for them, and its navigation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli

from tests.documents.documents import ROOT, read
from tools.site import api, stage

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the pages that the site generator reads."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    stage.stage(folder)
    return folder


def navigation(entries: Any) -> Iterator[str]:
    """The pages of the navigation in their order."""
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from [value] if isinstance(value, str) else navigation(value)


def test_the_navigation_has_every_page_once(pages: Path) -> None:
    listed = list(navigation(tomli.loads(read(ROOT / "zensical.toml"))["project"]["nav"]))
    written = [path.relative_to(pages).as_posix() for path in pages.rglob("*.md")]
    assert sorted(listed) == sorted(written)


@pytest.mark.parametrize("package", api.packages())
def test_the_page_of_a_package_has_every_public_name(package: str, pages: Path) -> None:
    text = read(pages / api.FOLDER / f"{package}.md")
    names = api.public_names(package)
    assert [name for name in names if f"\n## {name}\n" not in text] == []
    assert " at 0x" not in text
    assert text.count("\n```") % 2 == 0


def test_an_entry_has_the_signature_and_the_docstring() -> None:
    text = api.page("olympus.numpy")
    entry = text.partition("\n## mean\n")[2].partition("\n## ")[0]
    assert "mean(\n    a: ArrayLike,\n    axis: Axis = None,\n" in entry
    assert "```pycon\n>>> mean(array([1, 2, 4]))\n" in entry


def test_the_members_of_a_class_are_listed() -> None:
    assert "\n### Compiled.cost\n" in api.page("olympus.stages")


def test_prose_of_a_docstring_has_no_accidental_markup() -> None:
    assert api._text("a * b, <A x, y> and `x * y`") == r"a \* b, &lt;A x, y&gt; and `x * y`"


def test_pages_are_in_the_dialect_of_the_site(pages: Path) -> None:
    text = read(pages / "tutorial.md")
    assert '```python title="docs/spirals/spirals.py"' in text
    assert "```console gpu" not in text
    assert "<!--" not in read(pages / "reference" / "cli.md")
    assert "| `--repeats auto|off` |" in read(pages / "reference" / "cli.md")
    assert "```pycon\n>>> " in read(pages / "reference" / "errors.md")


def test_links_out_of_the_documents_lead_to_copies(pages: Path) -> None:
    text = read(pages / "how-to" / "ci.md")
    assert "](../files/ci/github/olympus.yml)" in text
    assert (pages / "files/ci/github/olympus.yml").read_bytes() == (
        ROOT / "ci/github/olympus.yml"
    ).read_bytes()


def test_the_site_needs_no_extra_to_be_staged() -> None:
    code = "import sys, tools.site.stage; assert 'zensical' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
