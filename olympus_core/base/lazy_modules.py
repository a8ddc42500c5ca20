"""Lazy attributes of a public package: modules on demand, and reasons for absent names.

A submodule, or the module that has a name, is imported at the first access (PEP 562): parts that
few programs need (linear algebra, transforms) then cost the others nothing.  A name that the
package does not have is an AttributeError, which gives the reason if the API has that name. The
names of the API are in `api_names.toml`, and the reasons in `absent_names.toml`, from which
docs/explanation/differences.md is generated too. They are read only for an error.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

_WHERE = "see docs/explanation/differences.md"


def _table(name: str) -> dict[str, Any]:
    """Return a file of this folder, parsed."""
    import importlib.resources  # imported here because only an error needs it
    import tomllib

    files = importlib.resources.files("olympus_core.base")
    return tomllib.loads(files.joinpath(name).read_text("utf-8"))


@functools.cache
def api() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the versions of JAX that have each public name, by namespace and name.

    The versions are empty for a name that all supported versions have.
    """
    found = {}
    for namespace, entry in _table("api_names.toml")["namespaces"].items():
        names: dict[str, tuple[str, ...]] = dict.fromkeys(entry["names"].split(), ())
        for version, more in entry["only"].items():
            for name in more.split():
                names[name] = (*names.get(name, ()), version)
        found[namespace] = names
    return found


def api_versions() -> list[str]:
    """Return the versions of JAX whose names are listed, oldest first."""
    return list(_table("api_names.toml")["versions"])


class Absence(NamedTuple):
    """A reason with the absent names in full, the names of past versions, and whole packages."""

    why: str
    names: tuple[str, ...]
    former: tuple[str, ...]
    packages: tuple[str, ...]


@functools.cache
def absences() -> list[Absence]:
    """Return the groups of `absent_names.toml`."""
    return [
        Absence(
            group["why"],
            _full_names(group.get("names", {})),
            _full_names(group.get("former", {})),
            tuple(group.get("packages", "").split()),
        )
        for group in _table("absent_names.toml")["absent"]
    ]


def _full_names(by_namespace: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{x}.{name}" for x, names in by_namespace.items() for name in names.split())


def why_absent(namespace: str, name: str) -> str | None:
    """Return the reason that `namespace` has no `name`; None if the API has no such name.

    >>> print(why_absent("olympus.experimental", "jax2tf"))
    TensorFlow is not a frontend of OLYMPUS (see docs/explanation/differences.md)
    """
    full = f"{namespace}.{name}"
    some = api().get(namespace, {}).get(name, ())
    since = f"; JAX has it in version {' and '.join(some)}" if some else ""
    for why, names, former, packages in absences():
        if full in names or full in former or any(f"{full}.".startswith(f"{x}.") for x in packages):
            return f"{why}{since} ({_WHERE})"
        if any(x.startswith(f"{full}.") for x in names):  # a module without one of its names
            return f"{why} ({_WHERE})"
    return None


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
