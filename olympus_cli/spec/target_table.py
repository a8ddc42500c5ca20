"""The lines of olympus.toml in errors that occur after a target's function is loaded.

An error is reported with keys of the target; only this module maps keys to lines.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from olympus.errors import OlympusError, SpecError, UsageError
from olympus_cli.spec.project_source import ProjectSource, read_project
from olympus_cli.spec.toml import toml_key
from olympus_cli.text.paths import display_path

_KEY = re.compile(r"[A-Za-z_][\w-]*")  # written without quotes
_Error = TypeVar("_Error", bound=UsageError)

#: The two forms of a static in the compiler's hints.
_STATIC_FORMS = re.compile(r"--static (\w+)=(\w+), \1 = \2 in \[target\.NAME\.static\]")


@dataclass(frozen=True)
class TargetTable:
    """The table of a target: its olympus.toml, and the name of the target there.

    `overridden` has the key paths with values from options, such as ("static", "n").
    """

    file: Path
    target: str
    overridden: frozenset[tuple[str, ...]] = frozenset()

    def without(self, *paths: tuple[str, ...]) -> TargetTable:
        """Return the same table, with the key `paths` overridden by options."""
        return replace(self, overridden=self.overridden.union(paths))

    def place(self, keys: tuple[str, ...]) -> str | None:
        """Return `olympus.toml:LINE: target.NAME.KEY` for a key path, up to the last existing key.

        Return None if the key is overridden, or if the file can no longer be read.
        """
        if any(keys[: len(path)] == path for path in self.overridden):
            return None
        source = self._source()
        if source is None:
            return None
        path, table = ["target", self.target], _table(source.data, "target", self.target)
        for key in keys:
            if not isinstance(table, dict) or key not in table:
                break
            path, table = [*path, key], table[key]
        file, line = source.place(tuple(path))
        return f"{display_path(file)}:{line}: {'.'.join(source.named(tuple(path)))}"

    def has_place(self, message: str) -> bool:
        """Return True if a message begins with a line of the project's files."""
        source = self._source()
        files = (self.file,) if source is None else source.files
        return any(message.startswith(f"{display_path(file)}:") for file in files)

    def line(self, table: str, name: str, value: str) -> str:
        """Return the line that sets `name` in a `table` of the target to `value`, and its table.

        The form is `args.x = "f32[8]" in [target.NAME]`.  It is without `args.` if the table
        exists, also if the table is inline.
        """
        source = self._source()
        prefix = source.layers[0].prefix if source else ()
        section = f"[{'.'.join((*prefix, 'target', toml_key(self.target)))}]"
        key = toml_key(name)
        present = _table(source.own, "target", self.target, table) if source else None
        match present:
            case list():
                return f"{value} in the array {table} of {section}"
            case dict():
                return f"{key} = {value} in the table {table} of {section}"
        return f"{table}.{key} = {value} in {section}"

    def _source(self) -> ProjectSource | None:
        """Return the text of the project; None if it can no longer be read."""
        try:
            return read_project(self.file)
        except SpecError:
            return None


class _Spec(Protocol):
    @property
    def table(self) -> TargetTable | None:
        """The table of the target in olympus.toml; None for an entry of the command line."""


def _table(data: object, *keys: str) -> object:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def with_line(error: _Error, spec: _Spec | None, *keys: str) -> _Error:
    """Return the error, with the line and the key path of its target before the message.

    An error that begins with a line of the file is not changed.
    """
    table = spec.table if spec is not None else None
    if table is None or table.has_place(str(error)):
        return error
    if (place := table.place(keys)) is not None:
        error.args = (f"{place}: {error}", *error.args[1:])
    return error


def form_of(spec: _Spec, part: str, name: str, value: str) -> str:
    """Return the text with which a user gives an argument: `part` is "args" or "static".

    `value` is TOML.  The text is a line of olympus.toml for a target.  It is an option, such as
    `--static n=3`, for an entry, or for an argument that an option gives.
    """
    if spec.table is not None and (part, name) not in spec.table.overridden:
        return spec.table.line(part, name, value)
    if part == "args":
        key = name if _KEY.fullmatch(name) else f"'{name}'"
        return f'--shapes "{key}={value.strip(chr(34))}"'
    return f"--static {shlex.quote(f'{name}={value}')}"


@contextmanager
def at_key(spec: _Spec | None, *keys: str) -> Iterator[None]:
    """Put the line and the key path before the message of a UsageError, as `with_line` does.

    Example: `with at_key(spec, "inputs", "x"): arrays = read(spec.inputs["x"])`.
    """
    try:
        yield
    except UsageError as error:
        with_line(error, spec, *keys)
        raise


@contextmanager
def fitting_hints(spec: _Spec) -> Iterator[None]:
    """Replace both forms of a static in the hint of an error by the form for `spec`."""
    try:
        yield
    except OlympusError as error:
        if error.hint:
            error.hint = _STATIC_FORMS.sub(
                lambda match: form_of(spec, "static", match[1], match[2]), error.hint
            )
        raise
