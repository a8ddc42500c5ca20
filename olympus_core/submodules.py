"""What a public package has beyond its own names: submodules on demand, and reasons for the rest.

A package's name and names of submodules enter; the package's `__getattr__` and `__dir__` (PEP 562)
leave.  A submodule is imported when a program first names it: what few programs need (linear
algebra, transforms) then costs nothing to the others.  A name that the package does not have is an
AttributeError, which says why where the API has that name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType

from olympus_core.absent import why_absent

__all__ = ["on_demand"]


def on_demand(
    package: str, *names: str
) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose submodules `names` are not yet imported.

    >>> __getattr__, __dir__ = on_demand(__name__, "linalg")
    """

    def __getattr__(name: str) -> ModuleType:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        why = None if name.startswith("_") else why_absent(package, name)
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}" + (f": {why}" if why else ""),
            name=name,
            obj=sys.modules[package],
        )

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return __getattr__, __dir__
