"""The folders of the user, also of a user without a home."""

from __future__ import annotations

from pathlib import Path

import pytest

from olympus_core.base.user_folders import user_cache_folder, user_settings_folder

FOLDERS = {"XDG_CACHE_HOME": user_cache_folder, "XDG_CONFIG_HOME": user_settings_folder}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_variable_names_the_folder(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(name, str(tmp_path))
    assert FOLDERS[name]() == tmp_path / "olympus"


@pytest.mark.parametrize("name", FOLDERS)
def test_a_user_without_a_home_has_no_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert FOLDERS[name]() is None
