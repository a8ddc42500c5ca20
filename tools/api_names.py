"""The public names of the installed JAX, and the file with those of all versions.

    python -m tools.api_names

adds the names of the installed version to `olympus_core/base/api_names.toml`, or replaces them. Run
it with each supported version of JAX.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
import types
import typing
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tomli

__all__ = ["names_of_installed", "names_of_version", "write"]

ROOT = Path(__file__).parents[1]
NAMES = ROOT / "olympus_core" / "base" / "api_names.toml"
ABSENT = ROOT / "olympus_core" / "base" / "absent_names.toml"
_HEAD = """\
# The public names of JAX by namespace; `python -m tools.api_names` writes this file from the
# installed JAX. `names` are those of every version, and `only` has more names by version.
"""
#: Kinds of values that a module defines for itself and not for its users.
_ALIASES = (types.GenericAlias, types.UnionType, typing.TypeVar, typing.ParamSpec)


def public_modules(excluded: Iterable[str]) -> list[str]:
    """Return the names of the public modules of JAX, except packages `excluded`, sorted."""
    found = ["jax"]
    for info in pkgutil.walk_packages(importlib.import_module("jax").__path__, "jax."):
        parts = info.name.split(".")
        inside = [".".join(parts[:i]) for i in range(1, len(parts) + 1)]
        if not any(part.startswith("_") for part in parts) and not set(inside) & set(excluded):
            found.append(info.name)
    return sorted(found)


def public_names(module: str) -> list[str]:
    """Return the public names of a module of JAX, sorted.

    They are the names in `__all__`, or else all that the module defines or imports in the form
    `Y as X`. Modules, aliases of types, replaced builtins and deprecated names do not count.
    """
    loaded = importlib.import_module(module)
    if hasattr(loaded, "__all__"):
        candidates = dict.fromkeys(loaded.__all__, True)
    else:
        candidates = dict(_declared(ast.parse(inspect.getsource(loaded)).body))
    return sorted(
        name
        for name, exported in candidates.items()
        if not name.startswith("_") and _counts(loaded, name, exported)
    )


def _declared(body: list[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """The names that statements define (False) or export (True), also in nested blocks."""
    for statement in body:
        match statement:
            case ast.If() | ast.Try():
                handlers = statement.handlers if isinstance(statement, ast.Try) else []
                for block in (statement.body, *(h.body for h in handlers), statement.orelse):
                    yield from _declared(block)
            case ast.ImportFrom(names=aliases):
                yield from ((x.asname, True) for x in aliases if x.asname is not None)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, True
            case ast.Assign(targets=targets):
                for target in targets:
                    parts = target.elts if isinstance(target, ast.Tuple) else [target]
                    yield from ((x.id, False) for x in parts if isinstance(x, ast.Name))
            case ast.AnnAssign(target=ast.Name(name)):
                yield name, False


def _counts(module: types.ModuleType, name: str, exported: bool) -> bool:
    """Return True if a declared name is public: it exists, and has a value for users."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = getattr(module, name)
        except Exception:  # a name for type checkers only, or one that was removed
            return False
    if any(issubclass(x.category, DeprecationWarning) for x in caught):
        return False
    if isinstance(value, types.ModuleType):
        return False
    return exported or not _is_internal(name, value)


def _is_internal(name: str, value: Any) -> bool:
    """Return True for an assigned alias of a type, a logger or another form of a builtin."""
    is_alias = isinstance(value, _ALIASES) or value is Any or typing.get_origin(value) is not None
    is_builtin_type = isinstance(value, type) and value.__module__ == "builtins"
    return is_alias or is_builtin_type or name.removeprefix("unsafe_") in ("map", "zip", "logger")


def names_of_installed() -> dict[str, list[str]]:
    """Return the public names of the installed JAX, by the namespace of OLYMPUS."""
    excluded = [x.replace("olympus", "jax", 1) for x in _absent_packages()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {module: public_names(module) for module in public_modules(excluded)}
    return {f"olympus{module[3:]}": found for module, found in names.items() if found}


def _absent_packages() -> list[str]:
    groups = tomli.loads(ABSENT.read_text("utf-8"))["absent"]
    return [package for group in groups for package in group.get("packages", "").split()]


def names_of_version(version: str) -> dict[str, list[str]]:
    """Return the names in `api_names.toml` that JAX of a version has, by namespace."""
    found = {
        namespace: sorted([*entry["names"].split(), *entry["only"].get(version, "").split()])
        for namespace, entry in tomli.loads(NAMES.read_text("utf-8"))["namespaces"].items()
    }
    return {namespace: names for namespace, names in found.items() if names}


def write() -> None:
    """Add the names of the installed JAX to `api_names.toml`, or replace them."""
    listed = tomli.loads(NAMES.read_text("utf-8"))["versions"] if NAMES.exists() else []
    versions = {x: names_of_version(x) for x in listed}
    versions[importlib.import_module("jax").__version__] = names_of_installed()
    order = sorted(versions, key=lambda x: [int(part) for part in x.split(".")])
    lines = [_HEAD, f"versions = [{', '.join(f'{x!r}' for x in order)}]\n".replace("'", '"')]
    for namespace in sorted({x for names in versions.values() for x in names}):
        by_version = {x: set(versions[x].get(namespace, ())) for x in order}
        common = set.intersection(*by_version.values())
        lines.append(f'\n[namespaces."{namespace}"]\nnames = {_quoted(common)}\n')
        only = [(x, names - common) for x, names in by_version.items() if names - common]
        text = ", ".join(f'"{x}" = "{" ".join(sorted(names))}"' for x, names in only)
        lines.append(f"only = {{ {text} }}\n" if text else "only = {}\n")
    NAMES.write_text("".join(lines), encoding="utf-8")


def _quoted(names: set[str]) -> str:
    text = " ".join(sorted(names))
    if len(text) <= 80:
        return f'"{text}"'
    wrapped = textwrap.fill(text, 98, break_long_words=False, break_on_hyphens=False)
    return f'"""\n{wrapped}\n"""'


if __name__ == "__main__":
    write()
