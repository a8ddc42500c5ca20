"""An entry's text enters, the Python object that it names leaves.

    package.module:function     path/file.py:function     module:Class.method

The project's folder is importable, as with `python -m`.  What the module prints while it is
imported goes to stderr.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from olympus.errors import EntryError, OlympusError
from olympus_cli.frontends.blame import place_of
from olympus_cli.places import quoted, shown
from olympus_cli.spec.nearest import did_you_mean

__all__ = ["load_entry", "visiting"]

# What is there before any project's folder comes into the path; `python -m` puts one there.
_PATH = tuple(place for place in sys.path if Path(place).resolve() != Path.cwd())
_TAKEN = frozenset(sys.stdlib_module_names) | frozenset(sys.modules)

_FORM = "an entry is package.module:function or path/file.py:function"


def load_entry(entry: str, root: Path) -> Callable[..., Any]:
    """The callable that `entry` names; files and modules are looked for in `root` first.

    Raises:
        EntryError: no such file, module or attribute (the hint has the nearest), a module that
            fails to be imported (its own file and line), something that cannot be called.
    """
    place, _, attributes = entry.rpartition(":")
    if not place or not all(part.isidentifier() for part in attributes.split(".")):
        raise EntryError(f"{entry!r} is no entry", hint=_FORM)
    is_file = place.endswith(".py") or "/" in place
    module = _from_file(place, root) if is_file else _from_name(place, root)
    found: Any = module
    for part in attributes.split("."):
        found = _attribute(found, part, module)
    if not callable(found):
        kind = type(found).__name__
        raise EntryError(f"{entry} is a value of type {kind}, not a function", hint=_FORM)
    return found  # type: ignore[no-any-return]


def _attribute(owner: Any, name: str, module: ModuleType) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        file = getattr(module, "__file__", None)
        where = module.__name__ + (f" ({shown(Path(file))})" if file else "")
        if owner is not module:
            where = f"{getattr(owner, '__qualname__', type(owner).__name__)} of {where}"
        choices = [k for k in dir(owner) if k[0] != "_" and callable(getattr(owner, k, None))]
        hint = did_you_mean(name, choices, "it has")
        raise EntryError(f"there is no function {name!r} in {where}", hint=hint) from None


def _from_name(name: str, root: Path) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise EntryError(f"{name!r} is no module's name", hint=_FORM)
    _importable(root)
    return _guarded(name, lambda: importlib.import_module(name), root)


def _from_file(place: str, root: Path) -> ModuleType:
    path = (root / place).resolve()
    if not os.path.isfile(path):  # which has no objection to a name that is too long
        near = [str(p.relative_to(root)) for p in root.glob("*.py")] if root.is_dir() else []
        raise EntryError(
            f"there is no file {shown(path)}", hint=did_you_mean(place, near, f"{root} has")
        )
    taken = _is_taken(path.stem, path.parent)
    _importable(path.parent, first=not taken)
    name = _private_name(path) if taken or not path.stem.isidentifier() else path.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    return _guarded(name, lambda: _execute(name, path), path.parent)


def _private_name(path: Path) -> str:
    return "olympus_entry_" + "".join(c if c.isalnum() else "_" for c in path.stem)


def _is_taken(name: str, folder: Path) -> bool:
    """Whether another module that is no project's has the name; `import` must go on finding it.

    Otherwise a file has its own name, so that a sibling's `import model` finds the same module.
    """
    if name in _TAKEN:
        return True
    elsewhere = [place for place in _PATH if Path(place).resolve() != folder]
    spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
    return spec is not None and spec.origin is not None  # a mere folder is no module


def _execute(name: str, path: Path) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None  # a loader was given
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses, pickle and `import` look here
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _importable(folder: Path, first: bool = True) -> None:
    """Let modules in `folder` be imported, before all others or after those of no project.

    What comes next is as in a new process: another project's module is not taken for one of it.
    """
    _forget_others(folder)
    others = [place for place in sys.path if Path(place).resolve() != folder]
    before = [] if first else [place for place in others if place in _PATH]
    after = [place for place in others if place not in before]
    sys.path[:] = [*before, str(folder), *after]
    importlib.invalidate_caches()


def _forget_others(folder: Path) -> None:
    """Drop the modules that another project gave, if `folder` has its own of their names."""
    for top in {name.partition(".")[0] for name in sys.modules} - _TAKEN:
        own = importlib.machinery.PathFinder.find_spec(top, [str(folder)])
        loaded = getattr(sys.modules.get(top), "__spec__", None)
        if own is None or _origin(own) == _origin(loaded) or _is_taken(top, folder):
            continue
        for name in [n for n in sys.modules if n == top or n.startswith(top + ".")]:
            del sys.modules[name]


def _origin(spec: ModuleSpec | None) -> object:
    """Where a module is from; for a package without a file, the first of its folders."""
    if spec is None:
        return None
    return spec.origin or next(iter(spec.submodule_search_locations or ()), None)


@contextmanager
def visiting() -> Iterator[None]:
    """Import from another place meanwhile: at the end the program finds its own modules again."""
    path, modules = list(sys.path), dict(sys.modules)
    try:
        yield
    finally:
        visited = tuple(f"{place}/" for place in sys.path if place not in path)
        for name in sys.modules.keys() - modules.keys():
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(visited):
                del sys.modules[name]
        sys.modules.update(modules)
        sys.path[:] = path


def _guarded(name: str, load: Callable[[], ModuleType], root: Path) -> ModuleType:
    """The module that `load` gives; whatever the user's code raises becomes an EntryError."""
    try:
        with redirect_stdout(sys.stderr):
            return load()
    except OlympusError:
        raise
    except SyntaxError as error:
        place = f"\n{quoted(f'{error.filename}:{error.lineno or 1}')}" if error.filename else ""
        message = f"{name} is not Python: {error.msg}{place}"
        raise EntryError(message) from error
    except ModuleNotFoundError as error:
        if _is_itself(name, error):
            raise EntryError(f"there is no module {name!r}", hint=_modules(name, root)) from error
        raise _failed(name, error) from error
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from error


def _is_itself(name: str, error: ModuleNotFoundError) -> bool:
    """Whether the entry's module is what is missing, not one that it imports."""
    missing = error.name or ""
    inside = any(
        frame.f_globals.get("__name__", "").partition(".")[0] == name.partition(".")[0]
        for frame, _ in traceback.walk_tb(error.__traceback__)
    )
    return not inside and (name == missing or name.startswith(missing + "."))


def _modules(name: str, root: Path) -> str | None:
    known = [module.name for module in pkgutil.iter_modules([str(root)])]
    return did_you_mean(name, known, f"looked in {root}, which has") or f"looked in {root}"


def _failed(name: str, error: BaseException) -> EntryError:
    place = place_of(error)
    what = "exits" if isinstance(error, SystemExit) else f"raises {type(error).__name__}"
    message = f"{name} {what} while it is imported" + (f": {error}" if str(error) else "")
    return EntryError(message + (f"\n{quoted(place)}" if place else ""), hint=_import_hint(error))


def _import_hint(error: BaseException) -> str | None:
    if isinstance(error, ImportError) and "relative import" in str(error):
        return "a file that imports relatively is part of a package: use package.module:function"
    if isinstance(error, ModuleNotFoundError):
        return f"install {error.name!r} in the environment that olympus runs in"
    return None
