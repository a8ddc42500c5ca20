"""The names of a folder are read again after each change of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from olympus_cli.builder.freshness import inputs
from olympus_cli.builder.freshness.inputs import importable_names
from olympus_cli.process.file_clock import TICK


def settle(folder: Path) -> None:
    """Set the times of a folder to before the shortest difference that counts."""
    status = os.stat(folder)
    while os.stat(folder).st_ctime_ns > inputs.time.time_ns() - TICK:
        pass
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
    while os.stat(folder).st_ctime_ns > inputs.time.time_ns() - TICK:
        pass


def test_a_listing_is_reused_until_the_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").touch()
    (tmp_path / "data.txt").touch()
    settle(tmp_path)
    scanned: list[str] = []
    usual = inputs._scandir
    monkeypatch.setattr(inputs, "_scandir", lambda path: scanned.append(path) or usual(path))
    assert importable_names(str(tmp_path)) == ["a.py"] == importable_names(str(tmp_path))
    assert len(scanned) == 1
    (tmp_path / "b.py").touch()
    assert importable_names(str(tmp_path)) == ["a.py", "b.py"]
    (tmp_path / "a.py").unlink()
    assert importable_names(str(tmp_path)) == ["b.py"]
    assert importable_names(str(tmp_path / "missing")) is None


def test_a_folder_with_a_link_to_a_package_is_read_each_time(tmp_path: Path) -> None:
    folder, package = tmp_path / "folder", tmp_path / "package"
    folder.mkdir()
    package.mkdir()
    (folder / "linked").symlink_to(package)
    settle(folder)
    assert importable_names(str(folder)) == ["linked"]
    package.rmdir()
    package.touch()
    assert importable_names(str(folder)) == []
