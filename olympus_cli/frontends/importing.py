"""The import of the Python object that an entry names.

    package.module:function     path/file.py:function     module:Class.method

The project's folder is importable, as with `python -m`. The printed output of the import goes to
stderr.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import inspect
import logging
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from olympus.errors import EntryError, TraceError, UsageError
from olympus_cli.faults.advice import advice, described
from olympus_cli.faults.blame import is_defect, is_interrupt, is_ours_on_purpose, place_of
from olympus_cli.faults.user_modules import user_modules
from olympus_cli.frontends.relocating import relocate, relocated
from olympus_cli.process.import_listings import forget_incomplete
from olympus_cli.spec.model import Checkout
from olympus_cli.text.nearest import did_you_mean
from olympus_cli.text.packages import PACKAGES
from olympus_cli.text.paths import display_path, quoted, resolved

# The path before any project's folder is added; `python -m` adds one.
_PATH = tuple(place for place in sys.path if Path(place).resolve() != Path.cwd())
_RESOLVED = {place: Path(place).resolve() for place in _PATH if os.path.isabs(place)}
_USED_NAMES = frozenset(sys.stdlib_module_names) | frozenset(sys.modules)

_FORM = "an entry is package.module:function or path/file.py:function"


# Modules that no project's module replaces, in any folder.
_OURS = frozenset(sys.stdlib_module_names) | {
    *(*PACKAGES, "jaxlib", "numpy", "ml_dtypes", "scipy"),
    *("click", "rich", "pygments", "markdown_it", "mdurl", "tomli", "cryptography", "safetensors"),
    "platformdirs",
    *("typing_extensions", "charset_normalizer"),  # of jaxlib and NumPy, where they are installed
}


#: The loggers of JAX that report a GPU plugin without a GPU, as an error with a traceback.
_PLUGIN_LOGGERS = ("jax._src.xla_bridge", "jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12")

_WRITES_NO_BYTECODE = sys.dont_write_bytecode  # as Python was started


class _Caching(importlib.machinery.SourceFileLoader):
    """The loader of our modules, which writes their bytecode; a program's is not written.

    Otherwise every process would compile the modules of a checkout again.
    """

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of a module, as the import system requests it."""
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, _WRITES_NO_BYTECODE
        try:
            return super().get_code(fullname)
        finally:
            sys.dont_write_bytecode = before


class _OursFirst:
    """The finder of the standard library and our packages at their places before any project's."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, _target: object = None
    ) -> ModuleSpec | None:
        """Return the spec of such a module, as the import system requests it; None for others."""
        if path is None:
            return _spec(name) if name in _OURS else None
        if name.partition(".")[0] not in PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Caching(spec.loader.name, spec.loader.path)
        return spec


def load_entry(
    entry: str, root: Path, python_path: Sequence[Path] = (), checkout: Checkout | None = None
) -> Callable[..., Any]:
    """Return the callable that `entry` names; files and modules are searched in `root` first.

    Modules are then searched in the folders of `python_path`.  `root` may be in a `checkout`:
    this process then imports the project's modules from it, here and later.

    Raises:
        EntryError: no such file, module or attribute (the hint has the nearest), a module that
            fails to be imported (its own file and line), an object that cannot be called.
    """
    owner, function = _found(entry, root, python_path, "function", checkout)
    _check_function(entry, owner, function)
    return function  # type: ignore[no-any-return]


def load_value(
    entry: str, root: Path, python_path: Sequence[Path] = (), checkout: Checkout | None = None
) -> Any:
    """Return the object that `entry` names, also if it is not a function; see `load_entry`.

    Raises:
        EntryError: no such file, module or attribute, or a module that fails to be imported.
    """
    return _found(entry, root, python_path, "name", checkout)[1]


def _found(
    entry: str, root: Path, python_path: Sequence[Path], noun: str, checkout: Checkout | None
) -> tuple[Any, Any]:
    """Return the owner of an entry's object, and the object.

    The owner is a module, a class or another object. `noun` is "function" or "name", for messages.
    """
    place, _, attributes = entry.rpartition(":")
    if not place or not all(part.isidentifier() for part in attributes.split(".")):
        raise EntryError(f"{entry!r} is not an entry", hint=_FORM)
    is_file = place.endswith(".py") or "/" in place
    load = _from_file if is_file else _from_name
    # Python uses a module's bytecode if the source has the same size and time in seconds. A change
    # within that second would build the old program. Without bytecode this cannot occur.
    sys.dont_write_bytecode = True
    if checkout is not None:
        relocate(checkout)
        python_path = [
            Path(folder) for folder in relocated([str(folder) for folder in python_path])
        ]
    module = load(place, root, python_path, checkout)
    owner: Any = module
    value: Any = module
    for part in attributes.split("."):
        owner, value = value, _attribute(value, part, module, noun)
    return owner, value


def _check_function(entry: str, owner: Any, function: Any) -> None:
    """Raise EntryError for an object that cannot be called with arrays, or returns none."""
    if not callable(function):
        kind = type(function).__name__
        raise EntryError(f"{entry} is a value of type {kind}, not a function", hint=_FORM)
    if inspect.isclass(function):
        raise EntryError(
            f"{entry} is a class, not a function",
            hint="name a function that makes an object of it and returns arrays",
        )
    code = inspect.unwrap(function)
    if inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code):
        raise EntryError(
            f"{entry} is an async function, which returns no arrays", hint="write it with `def`"
        )
    if inspect.isgeneratorfunction(code):
        raise EntryError(
            f"{entry} is a generator function, which returns no arrays",
            hint="return a list or a tuple in the place of `yield`",
        )
    if inspect.isclass(owner) and not inspect.ismethod(function) and _takes_self(function):
        module, _, path = entry.rpartition(":")
        method = path.rpartition(".")[2]
        raise EntryError(
            f"{entry} is a method, and needs an object of {owner.__name__}",
            hint=f"make one in the module, such as `it = {owner.__name__}(...)`, and name "
            f"{module}:it.{method}",
        )


def _takes_self(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a built-in without a signature
        return False
    return next(iter(parameters), "") == "self"


def _attribute(owner: Any, name: str, module: ModuleType, noun: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        file = getattr(module, "__file__", None)
        where = module.__name__ + (f" ({display_path(Path(file))})" if file else "")
        if owner is not module:
            where = f"{getattr(owner, '__qualname__', type(owner).__name__)} of {where}"
        names = _functions(owner) if noun == "function" else _public(owner)
        hint = did_you_mean(name, names, "it has")
        raise EntryError(f"{where} has no {noun} {name!r}", hint=hint) from None
    except Exception as error:  # of a property, or of the module's `__getattr__`
        raise _failed(f"{module.__name__}.{name}", error) from error


def _public(owner: Any) -> list[str]:
    """Return the public names in a module, a class or an object."""
    return [name for name in dir(owner) if not name.startswith("_")]


def _functions(owner: Any) -> list[str]:
    """Return the public names of the callables in a module, a class or an object."""
    names = []
    for name in _public(owner):
        with suppress(Exception):  # of a property
            if callable(getattr(owner, name)):
                names.append(name)
    return names


def _from_name(
    name: str, root: Path, python_path: Sequence[Path], _checkout: Checkout | None
) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise EntryError(f"{name!r} is not the name of a module", hint=_FORM)
    _importable(root, python_path)
    own = root / f"{name}.py"
    if name in _OURS and own.is_file() and _origin(_spec(name)) != str(own):
        raise EntryError(
            f"{name!r} is the name of a module of Python or of a package that OLYMPUS needs: "
            f"{display_path(own)} does not take its place",
            hint=f"name the file: {own.name}:function",
        )
    return _guarded(name, lambda: importlib.import_module(name), root)


def _spec(name: str) -> ModuleSpec | None:
    return importlib.machinery.PathFinder.find_spec(name, list(_PATH))


def _from_file(
    place: str, root: Path, python_path: Sequence[Path], checkout: Checkout | None
) -> ModuleType:
    path = resolved(root / place)
    if checkout is not None:
        path = checkout.moved(path) or path
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise EntryError(f"{display_path(path)} cannot be imported: it is not a regular file")
    if not os.path.isfile(path):  # also False for a name that is too long
        near = (
            [str(p.relative_to(root)) for p in root.glob("*.py") if p.is_file()]
            if root.is_dir()
            else []
        )
        if os.path.isfile(f"{path}.py"):
            near = [f"{place}.py"]
        raise EntryError(
            f"file {display_path(path)} does not exist",
            hint=did_you_mean(place, near, f"{root} has"),
        )
    is_used = _is_used(path.stem, path.parent)
    _importable(path.parent, python_path, first=not is_used)
    name = _private_name(path) if is_used or not path.stem.isidentifier() else path.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    return _guarded(name, lambda: _execute(name, path), path.parent)


def _private_name(path: Path) -> str:
    return "olympus_entry_" + "".join(c if c.isalnum() else "_" for c in path.stem)


def _is_used(name: str, folder: Path) -> bool:
    """Return True if another module, not of a project, has the name; `import` must still find it.

    Otherwise a file is imported with its own name, so that `import model` in a sibling finds the
    same module.
    """
    if name in _USED_NAMES:
        return True
    elsewhere = [place for place in relocated(_PATH) if not _is_one_of(place, [folder])]
    spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
    return spec is not None and spec.origin is not None  # a mere folder is not a module


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


def _importable(folder: Path, python_path: Sequence[Path], first: bool = True) -> None:
    """Make modules in `folder` importable, before all others or after modules of no project.

    Those in `python_path` come next. The rest is as in a new process: a module of another project
    is not used in place of one of these.
    """
    folders = [folder, *python_path]
    for directory in reversed(folders):
        _forget_others(directory)
    if _OursFirst not in sys.meta_path:
        sys.meta_path.insert(0, _OursFirst)
    others = [place for place in sys.path if not _is_one_of(place, folders)]
    system = frozenset(relocated(_PATH))
    before = [] if first else [place for place in others if place in system]
    after = [place for place in others if place not in before]
    sys.path[:] = [*before, *map(str, folders), *after]
    forget_incomplete()


def _is_one_of(place: str, folders: Collection[Path]) -> bool:
    return (_RESOLVED.get(place) or Path(place).resolve()) in folders


def _forget_others(folder: Path) -> None:
    """Remove modules of another project if `folder` has its own with the same names."""
    for top in {name.partition(".")[0] for name, _ in user_modules()} - _USED_NAMES:
        own = importlib.machinery.PathFinder.find_spec(top, [str(folder)])
        loaded = getattr(sys.modules.get(top), "__spec__", None)
        if own is None or _origin(own) == _origin(loaded) or _is_used(top, folder):
            continue
        for name in [n for n in sys.modules if n == top or n.startswith(top + ".")]:
            del sys.modules[name]


def _origin(spec: ModuleSpec | None) -> object:
    """Return the file of a module; for a package without a file, the first of its folders."""
    if spec is None:
        return None
    return spec.origin or next(iter(spec.submodule_search_locations or ()), None)


@contextmanager
def visiting() -> Iterator[None]:
    """A context for imports from another place; at its end the program finds its modules again."""
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


@contextmanager
def without_plugin_messages() -> Iterator[None]:
    """Hide JAX's messages on plugins: the compilers for GPUs and TPUs are ones that it cannot run.

    With the compiler for TPUs, JAX looks for TPUs in the network when it is imported.
    """
    is_added = "JAX_PLATFORMS" not in os.environ and _has_only_tpu_compiler()
    if is_added:
        os.environ["JAX_PLATFORMS"] = "cpu"
    loggers = [logging.getLogger(name) for name in _PLUGIN_LOGGERS]
    states = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True  # a new level would clear the caches of all loggers
    try:
        yield
    finally:
        for logger, state in zip(loggers, states, strict=True):
            logger.disabled = state
        if is_added:
            os.environ.pop("JAX_PLATFORMS", None)


def _has_only_tpu_compiler() -> bool:
    """Return True if the compiler for TPUs is installed, and this machine has no TPU and no GPU."""
    from olympus.stages import is_attached

    if importlib.util.find_spec("libtpu") is None:
        return False
    return not any(map(is_attached, ("gpu", "tpu")))


def _guarded(name: str, load: Callable[[], ModuleType], root: Path) -> ModuleType:
    """Return the module that `load` returns; errors of the user's code become EntryErrors."""
    try:
        with redirect_stdout(sys.stderr), without_plugin_messages():
            return load()
    except (TraceError, UsageError) as error:  # raised by the module's top-level code
        place = error.location if isinstance(error, TraceError) and error.location else None
        place = place or place_of(error)
        message = f"{name} fails while it is imported: {error}{_quoted(place, str(error))}"
        raise EntryError(message, hint=error.hint) from error
    except SyntaxError as error:
        place = f"{error.filename}:{error.lineno or 1}" if error.filename else None
        raise EntryError(f"{name} is not Python: {error.msg}{_quoted(place)}") from error
    except ModuleNotFoundError as error:
        if _is_itself(name, error):
            hint = _elsewhere(name, root) or _modules(name, root)
            raise EntryError(f"no module is named {name!r}", hint=hint) from error
        raise _failed(name, error, _elsewhere(error.name or "", root)) from error
    except BaseException as error:  # a module that exits must not exit the command
        if is_ours_on_purpose(error) or is_interrupt(error) or is_defect(error):
            raise
        raise _failed(name, error) from error


def _is_itself(name: str, error: ModuleNotFoundError) -> bool:
    """Return True if the missing module is the entry's, not one that it imports."""
    missing = error.name or ""
    inside = any(
        frame.f_globals.get("__name__", "").partition(".")[0] == name.partition(".")[0]
        for frame, _ in traceback.walk_tb(error.__traceback__)
    )
    return not inside and (name == missing or name.startswith(missing + "."))


def _modules(name: str, root: Path) -> str | None:
    known = [module.name for module in pkgutil.iter_modules([str(root)])]
    return did_you_mean(name, known, f"looked in {root}, which has") or f"looked in {root}"


def _elsewhere(name: str, root: Path) -> str | None:
    """Return the hint for a module that is in a subfolder of the project, such as `src`."""
    top = name.partition(".")[0]
    for folder in sorted(path for path in root.glob("[!.]*") if path.is_dir()):
        spec = importlib.machinery.PathFinder.find_spec(top, [str(folder)]) if top else None
        if spec is not None and spec.origin is not None:
            if (folder / "__init__.py").exists():
                return f"did you mean {folder.name}.{name}?"
            key = f'python-path = ["{folder.name}"]'
            return f"it is in {display_path(folder)}: put {key} into [project] of olympus.toml"
    return None


def _failed(name: str, error: BaseException, hint: str | None = None) -> EntryError:
    what = "exits" if isinstance(error, SystemExit) else f"raises {type(error).__name__}"
    text = described(error)
    message = f"{name} {what} while it is imported" + (f": {text}" if text else "")
    return EntryError(message + _quoted(place_of(error)), hint=hint or advice(error))


def _quoted(place: str | None, message: str = "") -> str:
    """Return a "file:line" and its source to append to a message that does not have it yet."""
    return f"\n{quoted(place)}" if place and place not in message else ""
