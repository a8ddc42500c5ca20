"""The files and folders that CONTRIBUTING.md and the page of the design name exist."""

from __future__ import annotations

import re

import pytest

from tests.documents.documents import ROOT, read

_PATH = re.compile(r"`((?:olympus|olympus_core|olympus_cli|tests|tools|docs|\.ci)/[\w./-]*)`")
PATHS = [
    (document, path)
    for document in ("CONTRIBUTING.md", "docs/explanation/design.md")
    for path in dict.fromkeys(_PATH.findall(read(ROOT / document)))
]


@pytest.mark.parametrize(("document", "path"), PATHS)
def test_a_named_file_exists(document: str, path: str) -> None:
    assert (ROOT / path).exists(), f"{document} names {path}"


def test_paths_are_recognized() -> None:
    assert _PATH.findall("`tests/a.py`, `tests/<name>.py`, `olympus_cli/text/` and `x/y`") == [
        "tests/a.py",
        "olympus_cli/text/",
    ]
    assert len(PATHS) > 20
