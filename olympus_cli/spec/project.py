"""`olympus.toml`: a folder or file enters, a `Project` with every target expanded leaves.

`olympus.toml.example` shows every key.  Nothing of the user's program is imported here.
"""

from __future__ import annotations

import re
from pathlib import Path

from olympus.errors import SpecError, UsageError
from olympus_cli.places import shown
from olympus_cli.spec import matrix
from olympus_cli.spec.backends import parse_backend
from olympus_cli.spec.model import ArgSpec, BackendSpec, FromEntry, Project, TargetSpec
from olympus_cli.spec.nearest import did_you_mean
from olympus_cli.spec.section import Section
from olympus_cli.spec.shapes import DEEPEST, parse_arg
from olympus_cli.spec.statics import HASHABLE, unhashable
from olympus_cli.spec.toml import load

__all__ = ["FILE", "PROJECT_KEYS", "TARGET_KEYS", "find_project", "load_project"]

FILE = "olympus.toml"
PROJECT_KEYS = ("build-dir", "default-targets")
TARGET_KEYS = ("entry", "args", "static", "donate", "backends", "matrix")

_NAME = re.compile(r"[\w.+-]+")  # a target's name is a folder's name too
_NAME_FORM = "letters, digits and . _ + - only, for it names a folder"


def find_project(start: Path) -> Path | None:
    """The nearest `olympus.toml` in `start` or a folder above it."""
    folder = start.resolve()
    return next((p for f in (folder, *folder.parents) if (p := f / FILE).is_file()), None)


def load_project(path: Path) -> Project:
    """The project of an `olympus.toml`, given as the file or as its folder.

    Raises:
        SpecError: no such file, a syntax error, an unknown key, a value of the wrong type or form.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise SpecError(f"there is no {shown(file)}", hint="olympus init writes one")
    source = load(file)
    top = Section(source, (), source.data)
    top.only(("project", "target"))
    root = file.resolve().parent
    targets: dict[str, TargetSpec] = {}
    section = top.table("target")
    for name in section.data:
        targets.update(_targets(section, name, root))
    settings = top.table("project")
    settings.only(PROJECT_KEYS)
    build_dir = root / settings.text("build-dir", "build")
    project = Project(root, targets, build_dir, settings.texts("default-targets"))
    if project.default_targets:
        try:
            project.select()
        except UsageError as error:
            settings.fail("default-targets", f"is wrong: {error}", error.hint)
    return project


def _targets(parent: Section, name: str, root: Path) -> dict[str, TargetSpec]:
    if not _NAME.fullmatch(name):
        parent.fail(name, f"is no target's name: {_NAME_FORM}")
    section = parent.table(name)
    section.only(TARGET_KEYS)
    for key, value in section.data.items():
        if matrix.depth(value) > DEEPEST:
            section.fail(key, f"is nested more than {DEEPEST} deep")
    axes = _axes(section)
    found = {}
    for values in matrix.combinations(axes):
        target = _target(section, name + matrix.suffix(values), values, root)
        if target.name in found:
            section.fail("matrix", f"gives {target.name!r} twice")
        found[target.name] = target
    return found


def _axes(section: Section) -> dict[str, list[object]]:
    table = section.table("matrix")
    for key, values in table.data.items():
        if not isinstance(values, list) or not values:
            table.wrong(key, "an array of at least one value", values)
        for value in values:
            if not isinstance(value, str | int | float):
                table.fail(key, f"holds strings, numbers and booleans; got {value!r}")
            if not _NAME.fullmatch(str(value)):
                table.fail(key, f"holds {value!r}, which is no part of a name: {_NAME_FORM}")
    return table.data


def _target(section: Section, name: str, values: matrix.Values, root: Path) -> TargetSpec:
    if "entry" not in section.data:
        section.fail("entry", "is missing", 'such as entry = "model:forward"')
    args, kwargs = _arguments(section, values)
    return TargetSpec(
        name=name,
        entry=_entry(section, "entry", section.text("entry", "")),
        args=args,
        kwargs=kwargs,
        static=_statics(section, values),
        donate=section.texts("donate"),
        backends=_backends(section),
        root=root,
    )


def _entry(section: Section, key: str, text: str) -> str:
    if ":" not in text:
        hint = 'write "package.module:function" or "path/file.py:function"'
        section.fail(key, f"is {text!r}, which names no function", hint)
    return text


def _arguments(
    section: Section, values: matrix.Values
) -> tuple[tuple[ArgSpec, ...], dict[str, ArgSpec]]:
    raw = section.data.get("args", {})
    for key in sorted(matrix.placeholders(raw) - values.keys()):
        hint = did_you_mean(key, values, "the matrix has") or "this target has no matrix"
        section.fail("args", f"has {{{key}}}, which is no key of the matrix", hint)
    filled = matrix.fill(raw, values)
    if isinstance(filled, list):
        items = enumerate(filled)
        return tuple(_argument(section, f"args[{i}]", value) for i, value in items), {}
    if not isinstance(filled, dict):
        section.wrong("args", "a table (by name) or an array (by position)", raw)
    table = Section(section.source, (*section.keys, "args"), filled)
    return (), {key: _argument(table, key, value) for key, value in filled.items()}


def _argument(section: Section, key: str, value: object) -> ArgSpec:
    if isinstance(value, list):
        return [_argument(section, f"{key}[{i}]", item) for i, item in enumerate(value)]
    if isinstance(value, dict):
        if value.keys() == {"from"} and isinstance(value["from"], str):
            return FromEntry(_entry(section, f"{key}.from", value["from"]))
        return {k: _argument(section, f"{key}.{k}", item) for k, item in value.items()}
    if not isinstance(value, str):
        section.wrong(key, 'a shape such as "f32[8,128]", or a table or an array of them', value)
    try:
        return parse_arg(value)
    except SpecError as error:
        section.fail(key, f"is no shape: {error}", error.hint)


def _statics(section: Section, values: matrix.Values) -> dict[str, object]:
    table = section.table("static")
    written = matrix.placeholders([section.data.get("args", {}), table.data])
    statics = {key: matrix.fill(value, values) for key, value in table.data.items()}
    statics |= {key: value for key, value in values.items() if key not in written}
    for name, value in statics.items():
        if why := unhashable(name, value):
            table.fail(name, f"cannot be used: {why}", HASHABLE)
    return statics


def _backends(section: Section) -> tuple[BackendSpec, ...]:
    names = section.texts("backends", ("cpu",))
    if not names:
        section.wrong("backends", "an array of at least one backend", [])
    try:
        return tuple(dict.fromkeys(map(parse_backend, names)))
    except UsageError as error:
        section.fail("backends", f"is wrong: {error}", error.hint)
