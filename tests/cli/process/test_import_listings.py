"""Listings of the import path are kept while they are complete, and forgotten otherwise."""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path

import pytest

from olympus_cli.process import import_listings
from olympus_cli.process.file_clock import TICK


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a folder with a module that is the whole import path."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "known.py").touch()
    monkeypatch.setattr(sys, "path", [str(folder)])
    monkeypatch.setattr(import_listings, "_complete", {})
    sys.path_importer_cache.pop(str(folder), None)
    return str(folder)


def settle(folder: str) -> None:
    while os.stat(folder).st_ctime_ns > time.time_ns() - TICK:
        pass


def forgotten(monkeypatch: pytest.MonkeyPatch) -> bool:
    calls: list[None] = []
    with monkeypatch.context() as patched:
        patched.setattr(importlib, "invalidate_caches", lambda: calls.append(None))
        import_listings.forget_incomplete()
    return bool(calls)


def test_a_listed_folder_is_not_listed_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(path)
    assert forgotten(monkeypatch)
    import_listings.list_completely(path)
    assert not forgotten(monkeypatch)
    listed: list[None] = []
    finder = sys.path_importer_cache[path]
    monkeypatch.setattr(finder, "_fill_cache", lambda: listed.append(None))
    assert importlib.machinery.PathFinder.find_spec("known", [path]) is not None
    assert not listed


def test_a_changed_folder_is_listed_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(path)
    import_listings.list_completely(path)
    Path(path, "added.py").touch()
    assert forgotten(monkeypatch)
    import_listings.list_completely(path)  # it has just changed
    assert forgotten(monkeypatch)
    settle(path)
    import_listings.list_completely(path)
    assert not forgotten(monkeypatch)
    assert importlib.machinery.PathFinder.find_spec("added", [path]) is not None


def test_a_folder_that_is_missing_may_appear(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(path)
    later = f"{path}-later"
    monkeypatch.setattr(sys, "path", [path, later])
    for folder in sys.path:
        import_listings.list_completely(folder)
    assert not forgotten(monkeypatch)
    os.mkdir(later)
    assert forgotten(monkeypatch)
