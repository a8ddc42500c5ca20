"""The files whose changes start a build, and the exception for files that programs write."""

from __future__ import annotations

from pathlib import Path

import pytest

from olympus_cli.builder.watch.changes import Changed
from olympus_cli.builder.watch.own_writes import OwnWrites
from olympus_cli.builder.watch.watched_files import WatchedFiles
from olympus_cli.spec.project import load_project


@pytest.fixture
def files(project: Path) -> WatchedFiles:
    (project / "lib").mkdir()
    (project / "base.toml").write_text("[budget]\nflops = 1e9\n")
    inner = project / "inner"
    (inner / "nested").mkdir(parents=True)
    text = 'extends = "../base.toml"\n[project]\npython-path = ["../lib", "nested"]\n'
    (inner / "olympus.toml").write_text(text + (project / "olympus.toml").read_text())
    return WatchedFiles.of(load_project(inner), [project / "devices.toml"], [inner / "report.json"])


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("inner/model.py", True),
        ("inner/data/weights.npy", True),
        ("inner/olympus.toml", True),
        ("inner/.env", True),
        ("lib/helper.py", True),
        ("base.toml", True),
        ("devices.toml", True),
        ("model.py", False),
        ("inner/build/add/report.json", False),
        ("inner/builder/model.py", True),
        ("inner/report.json", False),
        ("inner/.git/index", False),
        ("inner/deep/__pycache__/model.cpython-311.pyc", False),
        ("inner/.venv/lib/site.py", False),
        ("inner/.model.py.swp", False),
        ("inner/model.py~", False),
        ("inner/.#model.py", False),
        ("inner/4913", False),
    ],
)
def test_the_files_that_start_a_build(
    project: Path, files: WatchedFiles, name: str, starts: bool
) -> None:
    assert files.has(project / name) == starts


def test_folders_inside_others_are_watched_once(project: Path, files: WatchedFiles) -> None:
    assert files.folders == (project / "inner", project / "lib")
    assert files.files == (project / "base.toml", project / "devices.toml")


def test_a_file_that_changes_during_each_build_is_ignored_until_the_user_saves_it() -> None:
    log, model = Path("log.txt"), Path("model.py")
    own_writes = OwnWrites()
    assert own_writes.others(Changed((log, model), ())) == ([log, model], [])
    assert own_writes.others(Changed((log,), ())) == ([log], [])
    assert own_writes.others(Changed((log, model), ())) == ([model], [log])
    assert own_writes.others(Changed((log,), ())) == ([], [])
    assert own_writes.others(Changed((log,), (model,))) == ([model], [])
    assert own_writes.others(Changed((), (log,))) == ([log], [])
    assert own_writes.others(Changed((log,), ())) == ([log], [])
