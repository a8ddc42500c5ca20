"""An entry's text enters, the Python object that it names leaves.

    package.module:function     path/file.py:function     module:Class.method

The project's folder is importable, as with `python -m`.  What the module prints while it is
imported goes to stderr.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from olympus.errors import EntryError, OlympusError
from olympus_cli.frontends.blame import place_of
from olympus_cli.places import quoted, shown
from olympus_cli.spec.nearest import did_you_mean

__all__ = ["load_entry"]

# What is there before any project's folder comes into the path.
_PATH = tuple(sys.path)
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
    _importable(root)
    if not all(part.isidentifier() for part in name.split(".")):
        raise EntryError(f"{name!r} is no module's name", hint=_FORM)
    _forget_other_projects(name.partition(".")[0], root)
    return _guarded(name, lambda: importlib.import_module(name), root)


def _from_file(place: str, root: Path) -> ModuleType:
    path = (root / place).resolve()
    if not path.is_file():
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
    """Let modules in `folder` be imported, before those of other places or after them."""
    if not first:
        sys.path[:] = [place for place in sys.path if Path(place).resolve() != folder]
        sys.path.append(str(folder))
    elif str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()


def _forget_other_projects(top: str, root: Path) -> None:
    """Drop a module of this name that another folder gave, if `root` has one of its own."""
    loaded = sys.modules.get(top)
    if loaded is None or top in sys.stdlib_module_names:
        return
    spec = importlib.machinery.PathFinder.find_spec(top, [str(root)])
    if spec is not None and spec.origin != getattr(loaded, "__file__", None):
        for name in [n for n in sys.modules if n == top or n.startswith(top + ".")]:
            del sys.modules[name]
        sys.path.remove(str(root))
        sys.path.insert(0, str(root))


def _guarded(name: str, load: Callable[[], ModuleType], root: Path) -> ModuleType:
    """The module that `load` gives; whatever the user's code raises becomes an EntryError."""
    try:
        with redirect_stdout(sys.stderr):
            return load()
    except OlympusError:
        raise
    except SyntaxError as error:
        line = f"{error.filename}:{error.lineno or 1}"
        message = f"{name} is not Python: {error.msg}\n{quoted(line)}"
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
