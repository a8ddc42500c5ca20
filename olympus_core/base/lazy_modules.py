"""Lazy attributes of a public package: modules on demand, and reasons for absent names.

A submodule, or the module that has a name, is imported at the first access (PEP 562): parts that
few programs need (linear algebra, transforms) then cost the others nothing.  A name that the
package does not have is an AttributeError, which gives the reason if the API has that name. The
names of the API are in `api_names.toml`, from which docs/explanation/differences.md is generated
too; it is read only for an error.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_PENDING = "it is not there yet"
_WHERE = "see docs/explanation/differences.md"


@functools.cache
def api() -> dict[str, Any]:
    """Return `api_names.toml`: each namespace's `names`, and the `absent` ones with reasons."""
    import importlib.resources  # imported here because only an error needs it
    import tomllib

    text = (
        importlib.resources.files("olympus_core.base").joinpath("api_names.toml").read_text("utf-8")
    )
    return tomllib.loads(text)


def why_absent(namespace: str, name: str) -> str | None:
    """Return the reason that `namespace` has no `name`; None if the API has no such name.

    >>> print(why_absent("olympus", "distributed"))
    programs of several processes are not part of this version (see docs/explanation/differences.md)
    """
    table = api().get(namespace, {})
    for group in table.get("absent", ()):
        if name in group["names"].split():
            return f"{group['why']} ({_WHERE})"
    full = f"{namespace}.{name}"
    known = name in table.get("names", "").split() or any(
        path == full or path.startswith(f"{full}.") for path in api()
    )
    return f"{_PENDING} ({_WHERE})" if known else None


def on_demand(
    package: str,
    *names: str,
    elsewhere: Mapping[str, Sequence[str]] | None = None,
    others: Callable[[], Mapping[str, Any]] = dict,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose submodules `names` are lazy.

    `elsewhere` are more names, by the module that has them; it is imported lazily too.
    `others` returns more attributes by name, which `dir` does not list; it is called for a name
    that the package does not have.

    >>> __getattr__, __dir__ = on_demand(__name__, "linalg", elsewhere={"math": ("sin", "cos")})
    """
    places = {name: module for module, its in (elsewhere or {}).items() for name in its}

    def __getattr__(name: str) -> Any:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        if name in places:
            return getattr(importlib.import_module(places[name]), name)
        if not name.startswith("__") and name in (more := others()):
            return more[name]
        why = None if name.startswith("_") else why_absent(package, name)
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}" + (f": {why}" if why else ""),
            name=name,
            obj=sys.modules[package],
        )

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names, *places})

    return __getattr__, __dir__
