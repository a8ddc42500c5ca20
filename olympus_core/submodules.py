"""Submodules of the public packages that are imported when a program first names them.

A package's name and names of submodules enter; the package's `__getattr__` and `__dir__` (PEP 562)
leave.  What few programs need (linear algebra, transforms) then costs nothing to the others.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType

__all__ = ["on_demand"]


def on_demand(
    package: str, *names: str
) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose submodules `names` are not yet imported.

    >>> __getattr__, __dir__ = on_demand(__name__, "linalg")
    """

    def module_getattr(name: str) -> ModuleType:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
        )

    def module_dir() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return module_getattr, module_dir
