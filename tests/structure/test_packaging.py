"""The installation is complete: pyproject.toml has a pattern for every data file."""

from __future__ import annotations

import fnmatch
import tomllib
from typing import Any

from olympus_cli.text.packages import PACKAGES
from tests.documents.documents import ROOT, read

PROJECT: dict[str, Any] = tomllib.loads(read(ROOT / "pyproject.toml"))
DATA = [
    path.name
    for package in PACKAGES
    for path in (ROOT / package).rglob("*")
    if path.is_file() and path.suffix not in (".py", ".pyc")
]
PATTERNS: list[str] = PROJECT["tool"]["setuptools"]["package-data"]["*"]


def test_every_file_of_data_is_installed() -> None:
    assert not [x for x in DATA if not any(fnmatch.fnmatch(x, p) for p in PATTERNS)]


def test_every_pattern_is_of_a_file() -> None:
    assert not [p for p in PATTERNS if not fnmatch.filter(DATA, p)]
