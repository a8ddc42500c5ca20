"""A project in a repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.history.runs import PROGRAM, TOML, commit, git


@pytest.fixture
def work(folder: Path) -> Path:
    """A project in a repository, with a commit."""
    (folder / "m.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    git(folder, "init", "--quiet", "--initial-branch=trunk")
    commit(folder, 1)
    return folder
