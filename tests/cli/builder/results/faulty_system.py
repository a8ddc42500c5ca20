"""A replacement of `os` in modules under test: its calls fail, or are recorded."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from olympus_bundle import regular_file
from olympus_cli.builder.results import folder_remote, local, locks, maintenance, new_files
from olympus_core.base import regular_files

#: The calls that can fail.
CALLS = ("open", "write", "fsync", "rename", "link", "mkdir", "makedirs", "unlink", "utime")
MODULES = (local, locks, maintenance, new_files, folder_remote, regular_files, regular_file)


class System:
    """The module `os`, of which the call number `fails_at` raises an error."""

    def __init__(self, fails_at: int = 0, number: int = 0) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._fails_at, self._number = fails_at, number

    def __getattr__(self, name: str) -> Any:
        usual = getattr(os, name)
        return self._counted(name, usual) if name in CALLS else usual

    def _counted(self, name: str, usual: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, *args))
            if len(self.calls) == self._fails_at:
                if name == "write":  # a full disk takes a part
                    usual(args[0], bytes(args[1])[: len(args[1]) // 2])
                raise OSError(self._number, os.strerror(self._number))
            result = usual(*args, **kwargs)
            self.calls[-1] = (name, *args, result)
            return result

        return call

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Replace `os` in the modules."""
        for module in MODULES:
            if hasattr(module, "os"):
                patch.setattr(module, "os", self)
