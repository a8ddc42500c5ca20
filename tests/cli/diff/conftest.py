"""The project of `olympus diff`, built and in a repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cli.diff.project import PROGRAM, TOML, git


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "net.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    return folder


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build folder of the project in `work`, built once."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "net.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    subprocess.run([sys.executable, "-m", "olympus_cli", "build"], cwd=folder, check=True)
    return folder / "build"


@pytest.fixture
def built(work: Path, build_folder: Path) -> None:
    """Give `work` a build of all its targets."""
    shutil.copytree(build_folder, work / "build")


@pytest.fixture
def repository(work: Path) -> Path:
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "one")
    return work


@pytest.fixture
def private_tmp(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that no other test uses."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder
