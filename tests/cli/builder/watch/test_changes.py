"""The changes of files, in groups."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from olympus.errors import BackendError, UsageError
from olympus_cli.builder.watch import changes as module
from olympus_cli.builder.watch.changes import WatchedChanges
from olympus_cli.builder.watch.watched_files import WatchedFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "package").mkdir(parents=True)
    return folder


@pytest.fixture
def changes(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchedChanges]:
    monkeypatch.setattr(module, "_BETWEEN_STATS", 0.0)
    (root.parent / "base.toml").write_text("")
    files = WatchedFiles((root,), (root.parent / "base.toml",), (root / "build",))
    with WatchedChanges(files) as started:
        yield started


def names(paths: tuple[Path, ...]) -> list[str]:
    return [path.name for path in paths]


def test_a_saved_file_and_a_file_replaced_by_an_editor(root: Path, changes: WatchedChanges) -> None:
    end = time.time() - 1
    (root / "model.py").write_text("a")
    (root / "model.pyc").write_text("a")
    assert names(changes.wait(end).later) == ["model.py"]
    (root / ".model.py.swp").write_text("b")
    (root / "new").write_text("b")
    os.rename(root / "new", root / "model.py")
    assert "model.py" in names(changes.wait(end).later)


def test_a_change_during_the_build_is_known_as_such(root: Path, changes: WatchedChanges) -> None:
    (root / "log.txt").write_text("by the program")
    (root / "gone.txt").write_text("by the program")
    (root / "gone.txt").unlink()
    changed = changes.wait(time.time() + 60)
    assert changed.later == ()
    assert "log.txt" in names(changed.during_build)


def test_many_files_and_no_outputs(root: Path, changes: WatchedChanges) -> None:
    (root / "build" / "f").mkdir(parents=True)
    for n in range(300):
        (root / "package" / f"module{n}.py").write_text(f"x = {n}\n")
        (root / "build" / "f" / str(n)).write_text("output")
    expected = {f"module{n}.py" for n in range(300)}
    seen: set[str] = set()
    while seen != expected:  # usually one group
        seen.update(names(changes.wait(0.0).later))
        assert seen <= expected


def test_a_checkout_of_git_is_one_group(root: Path, changes: WatchedChanges) -> None:
    lock = root / ".git" / "index.lock"
    lock.parent.mkdir()
    lock.touch()
    (root / "first.py").touch()

    def continue_slowly() -> None:
        for n in range(3):
            time.sleep(0.2)  # longer than the pause that ends a group
            (root / f"later{n}.py").touch()
        lock.unlink()

    git = threading.Thread(target=continue_slowly)
    git.start()
    changed = changes.wait(0.0).later
    git.join()
    assert names(changed) == ["first.py", "later0.py", "later1.py", "later2.py"]


def test_a_file_outside_the_folders(root: Path, changes: WatchedChanges) -> None:
    (root.parent / "other.toml").touch()
    (root.parent / "base.toml").write_text("[budget]\n")
    assert names(changes.wait(0.0).later) == ["base.toml"]


def test_a_removed_folder(root: Path, changes: WatchedChanges) -> None:
    shutil.rmtree(root / "package")
    assert changes.wait(0.0) is not None
    shutil.rmtree(root)
    with pytest.raises(UsageError, match="project was removed, so that it cannot be watched"):
        while True:
            changes.wait(0.0)


def test_a_folder_that_was_replaced_is_watched_again(root: Path, changes: WatchedChanges) -> None:
    os.rename(root, root.parent / "old")
    root.mkdir()
    changes.watch(changes._files)
    (root / "model.py").touch()
    assert "model.py" in names(changes.wait(0.0).later)


@pytest.mark.parametrize("folder_is_new", [False, True])
def test_changes_before_other_files_are_watched_are_not_lost(
    root: Path, changes: WatchedChanges, folder_is_new: bool
) -> None:
    library = root.parent / "library"
    library.mkdir()
    (root / "model.py").touch()
    (root / "report.json").touch()
    (root.parent / "base.toml").write_text("[budget]\n")
    folders = (root, library) if folder_is_new else (root,)
    changes.watch(WatchedFiles(folders, changes._files.files, (root / "report.json",)))
    seen = set(names(changes.wait(0.0).later))
    while seen < {"model.py", "base.toml"}:
        seen.update(names(changes.wait(0.0).later))
    assert seen == {"model.py", "base.toml"}


def test_without_the_package(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(BackendError) as caught, WatchedChanges(WatchedFiles((root,))):
        pass
    assert caught.value.hint == "pip install 'olympus[watch]'"


def test_a_folder_that_cannot_be_watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def watch(*_folders: Path, **_options: object) -> Iterator[None]:
        raise OSError("OS file watch limit reached")
        yield

    monkeypatch.setattr(module, "_library", lambda: watch)
    with (
        pytest.raises(UsageError, match="limit reached") as caught,
        WatchedChanges(WatchedFiles((root,))),
    ):
        pass
    assert "WATCHFILES_FORCE_POLLING=1" in (caught.value.hint or "")
