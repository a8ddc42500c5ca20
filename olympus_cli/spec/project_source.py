"""The text of a project: its file, and the files that it extends, as one table with lines.

`read_project` merges the files. A message on a value has the file and the line that set it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from olympus.errors import SpecError
from olympus_cli.spec.inherited_paths import moved_defaults, moved_path
from olympus_cli.spec.project_file import FILE, PYPROJECT, TOOL, is_named, is_pyproject
from olympus_cli.spec.section import Section
from olympus_cli.spec.toml import TomlFile, load
from olympus_cli.text.paths import display_path, resolved

#: The tables of a file.
TABLES = ("project", "defaults", "target", "budget", "bench", "device")
#: The tables that a file inherits from the one that it extends, key by key.
INHERITED = ("defaults", "budget", "bench", "device")
#: The keys of a target whose tables are merged with those of `[defaults]`, key by key.
MERGED = (
    *("args", "static", "matrix", "inputs", "tolerance", "budget", "bench", "env", "trips"),
    "compiler-options",
)
_INHERITED_SETTING = ("project", "python-path")
_HINT = "olympus init writes an olympus.toml"
_MOST = 100  # files that extend one another

_Keys = tuple[str, ...]


@dataclass(frozen=True)
class Layer:
    """A file of a project, and its table `data`: the whole file, or `[tool.olympus]`.

    The inherited paths in `data` are relative to the folder of the project.
    """

    file: TomlFile
    prefix: _Keys
    data: dict[str, Any]

    def depth(self, keys: _Keys) -> int:
        """Return the number of keys of the path that exist."""
        node: Any = self.data
        for count, key in enumerate(keys):
            if not isinstance(node, dict) or key not in node:
                return count
            node = node[key]
        return len(keys)

    def fail(self, keys: _Keys, message: str, hint: str | None = None) -> NoReturn:
        """Raise SpecError about the value at `keys`, with file and line before the message."""
        self.file.fail((*self.prefix, *keys), message, hint)


@dataclass(frozen=True)
class ProjectSource:
    """The files of a project: its own first, then the extended ones; `data` is the merged table.

    The table of a target in `data` has the keys of `[defaults]`.
    """

    layers: tuple[Layer, ...]
    data: dict[str, Any]

    @property
    def path(self) -> Path:
        """The project's own file."""
        return self.layers[0].file.path

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that were read: the project's own, and the extended ones."""
        return tuple(layer.file.path for layer in self.layers)

    def origin(self, keys: _Keys) -> tuple[Layer, _Keys]:
        """Return the file that sets the value at `keys` of `data`, and the key path in its table.

        For a key that no file sets, it is the file of the longest prefix.
        """
        best, found = -1, (self.layers[0], keys)
        for layer, path in self._candidates(keys):
            depth = layer.depth(path) + len(keys) - len(path)
            if depth > best:
                best, found = depth, (layer, path)
        return found

    def _candidates(self, keys: _Keys) -> Iterator[tuple[Layer, _Keys]]:
        yield self.layers[0], keys
        if keys[:1] == ("target",) and len(keys) > 2:
            yield from ((layer, ("defaults", *keys[2:])) for layer in self.layers)
        elif keys[:1] and (keys[0] in INHERITED or keys[:2] == _INHERITED_SETTING):
            yield from ((layer, keys) for layer in self.layers[1:])

    def named(self, keys: _Keys) -> _Keys:
        """Return the key path in its file of the value at `keys`, for messages."""
        layer, path = self.origin(keys)
        return (*layer.prefix, *path)

    def place(self, keys: _Keys) -> tuple[Path, int]:
        """Return the file and the 1-based line that set the value at `keys`."""
        layer, path = self.origin(keys)
        return layer.file.path, layer.file.line_of((*layer.prefix, *path))

    def fail(self, keys: _Keys, message: str, hint: str | None = None) -> NoReturn:
        """Raise SpecError about the value at `keys`, with file and line before the message."""
        layer, path = self.origin(keys)
        layer.fail(path, message, hint)

    @cached_property
    def own(self) -> dict[str, Any]:
        """The table of the project's own file, without inherited values."""
        return self.layers[0].data


def read_project(path: Path, read: Callable[[Path], TomlFile] = load) -> ProjectSource:
    """Return the text of the project in the file `path`, with the files that it extends.

    `read` returns the TOML of a file.

    Raises:
        SpecError: a file does not exist, is not TOML, has an unknown table, or extends itself.
    """
    if read is load and not is_named(path):  # also False for a name that no file can have
        raise SpecError(f"{display_path(path)} does not exist", hint=_HINT)
    root = resolved(path).parent
    layers = [_layer(path, root, read)]
    seen = [_real(path)]
    while (base := _extended(layers[-1], read is load)) is not None:
        if (real := _real(base)) in seen or len(seen) == _MOST:
            names = " -> ".join(os.path.relpath(file, root) for file in (*seen, real))
            why = "leads in a circle" if real in seen else f"is a chain of more than {_MOST} files"
            layers[-1].fail(("extends",), f"extends {why}: {names}")
        layers.append(_inherited(layers[-1], base, root, read))
        seen.append(real)
    return ProjectSource(tuple(layers), _merged(layers))


def _real(path: Path) -> str:
    return os.path.realpath(path)


def _extended(layer: Layer, is_checked: bool) -> Path | None:
    """Return the path of the file that a file extends; None if it extends none."""
    if "extends" not in layer.data:
        return None
    text = layer.data["extends"]
    if not isinstance(text, str) or not text or "\0" in text:
        hint = 'such as extends = "../base.toml"'
        layer.fail(("extends",), f"extends must be the path of a file; got {text!r:.80}", hint)
    path = Path(os.path.normpath(resolved(layer.file.path).parent / text))
    if is_checked and os.path.isdir(path):
        hint = f'write extends = "{text.rstrip("/")}/{FILE}"'
        layer.fail(("extends",), f"extends names {text}, which is a folder", hint)
    if is_checked and not is_named(path):
        way = "~ is not the home folder here: write a path" if text.startswith("~") else None
        layer.fail(("extends",), f"extends names {text}, which does not exist", way)
    return path


def _inherited(layer: Layer, base: Path, root: Path, read: Callable[[Path], TomlFile]) -> Layer:
    """Return the file that `layer` extends; an error without a line gets that of `extends`."""
    try:
        return _layer(base, root, read)
    except SpecError as error:
        if str(error).startswith(f"{display_path(base)}:"):
            raise
        layer.fail(("extends",), f"extends cannot be followed: {error}", error.hint)


def _layer(path: Path, root: Path, read: Callable[[Path], TomlFile]) -> Layer:
    file = read(path)
    prefix = TOOL if is_pyproject(path) else ()
    data: Any = file.data
    for key in prefix:
        data = data.get(key) if isinstance(data, dict) else None
    if not isinstance(data, dict):
        hint = "add [tool.olympus.target.NAME], or write an olympus.toml"
        raise SpecError(f"{display_path(path)} has no table [tool.olympus]", hint=hint)
    layer = Layer(file, prefix, data)
    _check_tables(layer)
    folder = resolved(path).parent
    return layer if folder == root else Layer(file, prefix, _moved(data, folder, root))


def _check_tables(layer: Layer) -> None:
    """Raise SpecError for an unknown key of the file, and for one that is not a table."""
    section = Section(layer.file, layer.prefix, layer.data)
    for keys, table in _headed(layer.data):
        if isinstance(table.get("extends"), str):
            place = "in [tool.olympus]" if layer.prefix else "before the first table"
            hint = f'write extends = "{table["extends"]}" {place}'
            message = f"extends is in the table [{'.'.join((*layer.prefix, *keys))}]"
            layer.fail((*keys, "extends"), f"{message}, and belongs to the file", hint)
    section.only(("extends", *TABLES))
    for name in TABLES:
        section.table(name)
    defaults = section.table("defaults")
    for key in MERGED:
        if not (key == "args" and isinstance(defaults.data.get(key), list)):
            defaults.table(key)


def _headed(data: dict[str, Any]) -> Iterator[tuple[_Keys, dict[str, Any]]]:
    """Yield the tables that may precede a key of the file by mistake, with their key paths."""
    for name in ("project", "defaults", "target"):
        table = data.get(name)
        if isinstance(table, dict):
            yield (name,), table
            if name == "target":
                yield from (((name, k), v) for k, v in table.items() if isinstance(v, dict))


def _moved(data: dict[str, Any], folder: Path, root: Path) -> dict[str, Any]:
    """Return the table of an extended file with its paths relative to `root`."""
    moved = dict(data)
    if "defaults" in data:
        moved["defaults"] = moved_defaults(data["defaults"], folder, root)
    folders = data.get("project", {}).get("python-path")
    if isinstance(folders, list) and all(isinstance(name, str) for name in folders):
        paths = [moved_path(name, folder, root) for name in folders]
        moved["project"] = {**data["project"], "python-path": paths}
    return moved


def _merged(layers: list[Layer]) -> dict[str, Any]:
    """Return the table of a project: its own values, then the inherited ones."""
    own = layers[0].data
    tables: dict[str, Any] = {name: {} for name in INHERITED}
    for layer in reversed(layers):
        for name in INHERITED:
            join = _with_defaults if name == "defaults" else _joined
            tables[name] = join(tables[name], layer.data.get(name, {}))
    settings = dict(own.get("project", {}))
    for layer in layers[1:]:
        folders = layer.data.get("project", {}).get("python-path")
        if folders is not None:
            settings.setdefault("python-path", folders)
    targets = {
        name: _with_defaults(tables["defaults"], table) if isinstance(table, dict) else table
        for name, table in own.get("target", {}).items()
    }
    return {**own, **tables, "project": settings, "target": targets}


def _joined(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    return {**low, **high}


def _with_defaults(defaults: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a target, with the values of `defaults` for the keys that it lacks."""
    joined = {**defaults, **table}
    for key in MERGED:
        low, high = defaults.get(key), table.get(key)
        if isinstance(low, dict) and isinstance(high, dict):
            joined[key] = {**low, **high}
    return joined


__all__ = ["INHERITED", "MERGED", "PYPROJECT", "TABLES", "Layer", "ProjectSource", "read_project"]
