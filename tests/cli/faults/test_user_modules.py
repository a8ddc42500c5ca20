"""The modules that may be the user's, after a mark."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from olympus_cli.faults import user_modules
from olympus_cli.faults.user_modules import mark_modules
from olympus_cli.faults.user_modules import user_modules as found


@pytest.fixture(autouse=True)
def _unmarked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_modules, "_last", [])
    monkeypatch.setattr(user_modules, "_possible", [])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def module(name: str, file: str) -> ModuleType:
    added = ModuleType(name)
    added.__file__ = file
    sys.modules[name] = added
    return added


def test_without_a_mark_all_modules_are_found() -> None:
    assert found() == list(sys.modules.items())


def test_after_a_mark_the_users_and_newer_modules_are_found() -> None:
    site = module("sitecustomize_of_user", "/home/me/site.py")
    module("of_python", f"{sys.modules['os'].__file__}")
    mark_modules()
    newer = module("newer_model", "/home/me/model.py")
    names = [name for name, _ in found()]
    assert (
        names[-1] == "newer_model" and "sitecustomize_of_user" in names and "of_python" not in names
    )
    assert dict(found())["newer_model"] is newer and dict(found())["sitecustomize_of_user"] is site
    assert len(names) < len(sys.modules)


def test_a_removed_mark_finds_all_modules() -> None:
    module("last", "/home/me/last.py")
    mark_modules()
    del sys.modules["last"]
    assert found() == list(sys.modules.items())
