"""A target of a mesh, with its bundle."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from olympus_cli.main import cli
from tests.cli.mesh.project import BUNDLE, written


@pytest.fixture(scope="module")
def bundle_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bundle of a program for eight devices; the user sets no number of devices."""
    folder = tmp_path_factory.mktemp("built")
    written(folder)
    with contextlib.chdir(folder):
        assert CliRunner().invoke(cli, ["build"]).exit_code == 0
    return (folder / BUNDLE).read_bytes()


@pytest.fixture
def built(folder, bundle_bytes: bytes) -> Path:
    """A folder with the target and its bundle."""
    written(folder, more='budget = { bundle-size = "1 MiB" }')
    (folder / BUNDLE).parent.mkdir(parents=True)
    (folder / BUNDLE).write_bytes(bundle_bytes)
    return folder
