"""The reader of `olympus.toml`, which returns a `Project` with every target expanded.

`olympus.toml.example` shows every key.  The user's program is not imported here.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import olympus
from olympus.errors import SpecError, UsageError
from olympus_cli.spec import matrix
from olympus_cli.spec.backends import parse_backend
from olympus_cli.spec.bench import bench_of
from olympus_cli.spec.buckets import Buckets, buckets_of
from olympus_cli.spec.budgets import budget_of
from olympus_cli.spec.cache import cache_of
from olympus_cli.spec.devices import Devices, devices_of
from olympus_cli.spec.entries import FRONTENDS, is_entry, is_onnx
from olympus_cli.spec.environment import check_variables, environment_of
from olympus_cli.spec.fixed_sizes import at_of, checked_constraints, symbolic_shapes
from olympus_cli.spec.inputs import InputSpec, input_specs, tolerance_spec
from olympus_cli.spec.limits import Budget
from olympus_cli.spec.mesh import (
    MeshSpec,
    check_backends,
    check_shape,
    mesh_of,
    out_sharding_of,
    sharding_of,
)
from olympus_cli.spec.model import (
    FROM_KEYS,
    ArgSpec,
    FromEntry,
    OfClass,
    OutputFolder,
    Project,
    ShapeSpec,
    SizeSpec,
    TargetSpec,
)
from olympus_cli.spec.project_file import FILE, find_project, project_at
from olympus_cli.spec.project_source import read_project
from olympus_cli.spec.section import Section
from olympus_cli.spec.shapes import MAX_DEPTH, parse_arg
from olympus_cli.spec.statics import static_of
from olympus_cli.spec.target_table import TargetTable
from olympus_cli.spec.trips import trips_of
from olympus_cli.text.nearest import did_you_mean, nearest
from olympus_cli.text.option_values import LINALG, OPTIMIZE, REPEATS, WEIGHTS
from olympus_cli.text.paths import display_path, resolved

__all__ = [
    "FILE",
    "HISTORY",
    "PROJECT_KEYS",
    "TARGET_KEYS",
    "beside_targets",
    "find_project",
    "load_project",
    "place_of_target",
]

HISTORY = "history.sqlite"  # the file name in the build folder
PROJECT_KEYS = (
    *("build-dir", "default-targets", "python-path", "history"),
    *("cache", "remote-cache", "remote-cache-mode"),
)
TARGET_KEYS = (
    *(
        "entry",
        "frontend",
        "weights",
        "args",
        "static",
        "constraints",
        "at",
        "donate",
        "backends",
        "mesh",
        "out-sharding",
    ),
    *("x64", "env", "optimize", "repeats", "linalg", "as-is", "compiler-options", "matrix"),
    *("buckets", "padding", "oversize"),
    *("inputs", "tolerance", "budget", "bench", "golden", "trips"),
)

_PART = re.compile(r"[\w.+-]+")  # the name of a target is also the name of a folder
_PART_FORM = "letters, digits and . _ + - only, because it names a folder"
_ENTRY = re.compile(r"[\w./-]+:[\w.]+")  # the entry of a function, in place of a shape
_MAX = 10_000  # targets of one matrix: a larger one is a mistake, and takes seconds to expand


def load_project(path: Path, own: Devices | None = None) -> Project:
    """Return the project of an olympus.toml or a pyproject.toml, given as the file or its folder.

    `own` are the user's own devices, which have precedence over those of the project.

    Raises:
        SpecError: no such file, a syntax error, an unknown key, a value of the wrong type or form.
    """
    file = project_at(path)
    source = read_project(file)
    top = Section(source, (), source.data)
    top.table("defaults").only(TARGET_KEYS)
    devices = {**devices_of(top), **(own or {})}
    root = resolved(file).parent
    settings = top.table("project")
    settings.only(PROJECT_KEYS)
    folders = _python_path(settings, root)
    # for all targets, the donation rule applies only to targets that donate
    budget, bench = replace(budget_of(top, devices), must_donate=False), bench_of(top)
    build_dir = root / settings.path("build-dir", "build")
    cache = cache_of(settings, root)
    section = top.table("target")
    tables = (_targets(section, name, root, devices) for name in section.data)
    targets = {
        key: replace(
            target,
            python_path=folders,
            budget=budget.under(target.budget),
            bench=bench.under(target.bench),
            outputs=OutputFolder(build_dir / key, target.backends),
            cache=cache,
        )
        for key, target in chain.from_iterable(table.items() for table in tables)
    }
    history = _history(settings, root, build_dir)
    defaults = settings.texts("default-targets")
    files = source.files
    project = Project(root, targets, build_dir, defaults, devices, history, file, files, cache)
    _check_default_targets(project, settings)
    return project


def _check_default_targets(project: Project, settings: Section) -> None:
    if project.default_targets:
        try:
            project.select()
        except UsageError as error:
            settings.fail("default-targets", f"is invalid: {error}", error.hint)


def place_of_target(file: Path, target: str) -> tuple[str, ...]:
    """Return the line of a project's file that defines a target, as the places of a gate report."""
    _, line = read_project(file).place(("target", target.partition("@")[0]))
    return (f"{file.absolute()}:{line}",)


def beside_targets(file: Path) -> tuple[tuple[Path, ...], Devices]:
    """Return the settings of a project's file for an entry: folders of modules, and devices.

    Raises:
        SpecError: a syntax error, a folder that does not exist, or an invalid device.
    """
    source = read_project(file)
    top = Section(source, (), source.data)
    return _python_path(top.table("project"), resolved(file).parent), devices_of(top)


def _history(settings: Section, root: Path, build_dir: Path) -> Path | None:
    value = settings.data.get("history", True)
    if isinstance(value, bool):
        return build_dir / HISTORY if value else None
    if isinstance(value, str) and value:
        return root / settings.path("history", value)
    settings.wrong("history", "true, false or the path of a file", value)


def _python_path(settings: Section, root: Path) -> tuple[Path, ...]:
    folders = tuple(resolved(root / name) for name in settings.texts("python-path"))
    for folder in folders:
        if not os.path.isdir(folder):
            settings.fail(
                "python-path", f"names the folder {display_path(folder)}, which does not exist"
            )
    return folders


def _targets(parent: Section, name: str, root: Path, devices: Devices) -> dict[str, TargetSpec]:
    if not _PART.fullmatch(name) or name.startswith("."):
        parent.fail(name, f"is not a valid target name: {_PART_FORM}, and no . at the beginning")
    section = parent.table(name)
    section.only(TARGET_KEYS)
    for key, value in section.data.items():
        if matrix.depth(value) > MAX_DEPTH:
            section.fail(key, f"is nested more than {MAX_DEPTH} deep")
    check_variables(section)
    axes, buckets = _axes(section), buckets_of(section)
    if buckets is not None:
        axes = {**axes, buckets.symbol: list(buckets.sizes)}
    args = section.data.get("args")
    passed = matrix.placeholders([args, section.data.get("static")])
    settings = sorted(matrix.placeholders(section.data) - passed)
    targets = {}
    _check_sizes(section, axes)
    for values in matrix.combinations(axes):
        target = _combination(section, name, values, root, devices)
        if buckets is not None:
            target = _in_bundle(section, name, target, buckets, devices)
        targets[target.name] = replace(target, toml_args=args, setting_keys=tuple(settings))
    return targets


def _combination(
    section: Section, name: str, values: matrix.Values, root: Path, devices: Devices
) -> TargetSpec:
    """Return the target of one combination of a matrix."""
    filled = _filled(section, values)
    return _target(filled, name + matrix.suffix(values), values, root, devices)


def _in_bundle(
    section: Section, name: str, target: TargetSpec, buckets: Buckets, devices: Devices
) -> TargetSpec:
    """Return a target of one size as a part of the bundle for all sizes."""
    shape = next(symbolic_shapes(target), None)
    if shape is not None:
        sizes = " and ".join(n for n in shape if isinstance(n, str))
        section.fail(
            "args",
            f"has the symbolic size {sizes}, and a bundle has buckets or symbolic sizes",
            'write a number or a matrix instead; oversize = "refine" makes the rows symbolic',
        )
    rest = {key: value for key, value in target.matrix.items() if key != buckets.symbol}
    size = int(str(target.matrix[buckets.symbol]))
    values = {**rest, buckets.symbol: buckets.twin(size)}
    twin = _combination(section, name, values, target.root, devices)
    general = None
    if buckets.oversize == "refine":
        values = {**rest, buckets.symbol: buckets.symbol}  # the symbolic size has the same name
        general = _combination(section, name, values, target.root, devices)
    return replace(target, buckets=buckets.spec(name + matrix.suffix(rest), size, twin, general))


def _axes(section: Section) -> dict[str, list[object]]:
    table = section.table("matrix")
    for key, values in table.data.items():
        if not key.isidentifier():
            section.fail("matrix", f"has the key {key!r}, which is not the name of an argument")
        if not isinstance(values, list) or not values:
            table.wrong(key, "an array of at least one value", values)
        for value in values:
            if not isinstance(value, str | int | float):
                table.fail(key, f"must have strings, numbers and booleans; got {value!r}")
            if not _PART.fullmatch(str(value)):
                table.fail(key, f"has {value!r}, which cannot be part of a name: {_PART_FORM}")
        if twice := matrix.repeated(values):
            table.fail(key, f"has {twice} twice: each value names a target")
    if (size := math.prod(map(len, table.data.values()))) > _MAX:
        section.fail("matrix", f"gives {size} targets, and at most {_MAX} are allowed")
    return table.data


def _check_sizes(section: Section, axes: Mapping[str, list[object]]) -> None:
    """Raise SpecError if a value of the matrix is used as a size of a shape and is not a size."""
    for path, key in matrix.sizes(section.data.get("args")):
        wrong = [v for v in axes.get(key, []) if not re.fullmatch("[0-9]+", matrix.text_of(v))]
        if wrong and "with" not in path:
            place = ".".join(map(str, ("args", *path)))
            section.source.fail(
                (*section.keys, "matrix", key),
                f"{section.dotted('matrix', key)} has {wrong[0]!r}, and {place} has {{{key}}}"
                " as a size, which is a whole number, 0 or more",
                f"write whole numbers, such as {key} = [1, 8]",
            )


def _target(
    section: Section, name: str, values: matrix.Values, root: Path, devices: Devices
) -> TargetSpec:
    if "entry" not in section.data:
        section.fail("entry", "is missing", 'such as entry = "model:forward"')
    mesh, backends = mesh_of(section), _backends(section, devices)
    check_backends(section, backends, mesh)
    args, kwargs = _arguments(section, mesh)
    data = _weights(section, root)
    return TargetSpec(
        name=name,
        entry=_entry(section, "entry", section.text("entry", "")),
        args=args,
        kwargs=kwargs,
        static=_statics(section),
        donate=section.texts("donate"),
        constraints=_constraints(section),
        at=at_of(section),
        backends=backends,
        root=root,
        matrix=values,
        compiler_options=_compiler_options(section),
        optimize=section.choice("optimize", OPTIMIZE),
        repeats=section.choice("repeats", REPEATS),
        linalg=section.choice("linalg", LINALG),
        as_is=section.flag("as-is"),
        x64=section.flag("x64") if "x64" in section.data else None,
        env=environment_of(section),
        frontend=section.choice("frontend", FRONTENDS),
        weights=section.choice("weights", WEIGHTS) if "weights" in section.data else None,
        inputs={**{k: InputSpec(file=x) for k, x in data.items()}, **input_specs(section, root)},
        data=data,
        tolerance=tolerance_spec(section),
        budget=_budget(section, devices),
        bench=bench_of(section),
        golden=section.flag("golden"),
        trips=trips_of(section),
        mesh=mesh,
        out_sharding=out_sharding_of(section, mesh),
        table=TargetTable(section.source.path, section.keys[-1]),
    )


def _constraints(section: Section) -> tuple[str, ...]:
    """Return the constraints of a target on its symbolic sizes."""
    texts = section.texts("constraints")
    try:
        return checked_constraints(texts)
    except UsageError as error:
        section.fail("constraints", str(error), error.hint)


def _budget(section: Section, devices: Devices) -> Budget:
    """Return the budget of a target; a rule of `[defaults]` on donation needs no donated array."""
    budget = budget_of(section, devices)
    is_own = section.source.named((*section.keys, "budget", "donation"))[-4:-2] == section.keys
    return budget if is_own else replace(budget, must_donate=False)


def _entry(section: Section, key: str, text: str) -> str:
    if not is_entry(text):
        hint = (
            'write "package.module:function", "path/file.py:function" or a file "step.mlir" or '
            '"model.onnx"'
        )
        section.fail(key, f"is {text!r}, which names no function", hint)
    return text


def _arguments(section: Section, mesh: MeshSpec) -> tuple[tuple[ArgSpec, ...], dict[str, ArgSpec]]:
    args = section.data.get("args", {})
    if isinstance(args, list):
        items = enumerate(args)
        return tuple(_argument(section, f"args[{i}]", value, mesh) for i, value in items), {}
    if not isinstance(args, dict):
        section.wrong("args", "a table (by name) or an array (by position)", args)
    table = Section(section.source, (*section.keys, "args"), args)
    is_model = is_onnx(section.text("entry", ""))
    return (), {k: _named_argument(table, k, value, mesh, is_model) for k, value in args.items()}


def _named_argument(
    section: Section, key: str, value: object, mesh: MeshSpec, is_model: bool
) -> ArgSpec:
    """Return an argument, or a free size of an ONNX model."""
    if isinstance(value, int) and not isinstance(value, bool) and is_model:
        if value < 0:
            section.wrong(key, "a size, which is 0 or more, or a shape", value)
        return SizeSpec(value)
    return _argument(section, key, value, mesh)


def _filled(section: Section, values: matrix.Values) -> Section:
    """Return the table of a target with the values of one combination of its matrix.

    A key of the matrix that no text has in braces is added to the statics.

    Raises:
        SpecError: a text has a name in braces that is not a key of the matrix.
    """
    apart = ("matrix", "buckets", "padding", "oversize")
    written = {key: value for key, value in section.data.items() if key not in apart}
    names = set()
    for path, name in matrix.references(written):
        names.add(name)
        if name not in values:
            hint = did_you_mean(name, values, "the matrix has") or "this target has no matrix"
            table = section.source.named((*section.keys, *map(str, path)))[: -len(path)]
            place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
            section.source.fail(
                (*section.keys, *map(str, path)),
                f"{'.'.join(table)}{place} has {{{name}}}, which is not a key of the matrix",
                hint,
            )
    data = {key: matrix.fill(value, values) for key, value in written.items()}
    static = data.get("static", {})
    if isinstance(static, dict):
        data["static"] = {**static, **{k: v for k, v in values.items() if k not in names}}
    return replace(section, data=data)


def _argument(section: Section, key: str, value: object, mesh: MeshSpec) -> ArgSpec:
    if isinstance(value, list):
        return [_argument(section, f"{key}[{i}]", item, mesh) for i, item in enumerate(value)]
    if isinstance(value, dict):
        if isinstance(value.get("from"), str) and value.keys() <= {*FROM_KEYS}:
            return _from_entry(section, key, value, mesh)
        if isinstance(of := value.get("type"), str) and "[" not in of and "{" not in of:
            return _of_class(section, key, value, mesh)
        _check_from(section, key, value)
        if _is_sharded(value):
            return _sharded(section, key, value, mesh)
        _check_keys(section, key, value)
        return {k: _argument(section, f"{key}.{k}", item, mesh) for k, item in value.items()}
    if not isinstance(value, str):
        section.wrong(key, 'a shape such as "f32[8,128]", or a table or an array of them', value)
    try:
        return parse_arg(value)
    except SpecError as error:
        hint = f'did you mean {{ from = "{value}" }}?' if _ENTRY.fullmatch(value) else error.hint
        section.fail(key, f"is not a shape: {error}", hint)


def _of_class(section: Section, key: str, value: dict[str, Any], mesh: MeshSpec) -> OfClass:
    entry = value["type"]
    if not _ENTRY.fullmatch(entry):
        hint = 'write type = "module:Class" or "path/file.py:Class"'
        section.fail(f"{key}.type", f"is {entry!r}, which names no class", hint)
    parts = {k: _argument(section, f"{key}.{k}", v, mesh) for k, v in value.items() if k != "type"}
    return OfClass(entry, parts)


def _is_sharded(value: dict[str, Any]) -> bool:
    """Return True if a table is a shape and a sharding, and not a pytree with these keys."""
    return (
        value.keys() == {"shape", "sharding"}
        and isinstance(value["shape"], str)
        and not _has_shapes(value["sharding"])
    )


def _has_shapes(value: object) -> bool:
    """Return True if a value can be a shape or a pytree of shapes."""
    if isinstance(value, dict):
        return "from" in value or any(map(_has_shapes, value.values()))
    if isinstance(value, list):
        return any(map(_has_shapes, value))
    return isinstance(value, str) and "[" in value


def _names_axes(value: object) -> bool:
    """Return True if a value can be a sharding, and not an array of shapes."""
    return (
        isinstance(value, list)
        and value != []
        and not _has_shapes(value)
        and all(isinstance(item, str) or _names_axes(item) for item in value)
    )


def _check_from(section: Section, key: str, value: dict[str, Any]) -> None:
    """Raise SpecError for a table with `from` a function and an unknown key."""
    entry = value.get("from")
    if isinstance(entry, str) and _ENTRY.fullmatch(entry):
        name = min(value.keys() - {*FROM_KEYS})
        near = did_you_mean(name, FROM_KEYS[1:], "the keys beside from are")
        section.fail(key, f"has no key {name!r}", near)


def _check_keys(section: Section, key: str, value: dict[str, Any]) -> None:
    """Raise SpecError for a table that looks like an invalid shape and sharding, not a pytree."""
    if len(value) > 2:
        return
    form = 'write { shape = "f32[64,8]", sharding = ["data"] }'
    if "sharding" in value and not _has_shapes(value["sharding"]):
        section.fail(key, "has a sharding and no shape", form)
    for name, item in value.items():
        names_axes, is_near = _names_axes(item), nearest(name, ["sharding"])
        if name == "shape":
            continue
        if "shape" in value and (names_axes or (is_near and not _has_shapes(item))):
            near = did_you_mean(name, ["sharding"], "the key beside shape is")
            section.fail(key, f"has no key {name!r}", near)
        if is_near and names_axes:
            section.fail(key, f"has {name!r}, which no argument has, and no shape", form)


def _sharded(section: Section, key: str, value: dict[str, Any], mesh: MeshSpec) -> ArgSpec:
    shape = _argument(section, f"{key}.shape", value["shape"], mesh)
    at = f"{key}.sharding"
    sharding = sharding_of(section, at, value["sharding"], mesh)
    if not isinstance(shape, ShapeSpec):
        section.fail(at, "is for one array, and shape is a table or an array of shapes")
    try:
        sizes = shape.sizes
    except UsageError as error:
        section.fail(at, f"cannot split an array: {error}", error.hint)
    check_shape(section, at, sizes, sharding, mesh)
    return replace(shape, sharding=sharding)


def _from_entry(section: Section, key: str, value: dict[str, Any], mesh: MeshSpec) -> FromEntry:
    values = value.get("with", {})
    if not isinstance(values, dict):
        section.wrong(f"{key}.with", "a table of arguments, such as { batch = 8 }", values)
    sharding = None
    if "sharding" in value:
        sharding = sharding_of(section, f"{key}.sharding", value["sharding"], mesh)
    return FromEntry(_entry(section, f"{key}.from", value["from"]), values, sharding)


def _weights(section: Section, root: Path) -> dict[str, Path]:
    """Return the files of `data` in the arguments, by the name of the argument."""
    args = section.data.get("args")
    files = {}
    for name, value in args.items() if isinstance(args, dict) else ():
        if isinstance(value, dict) and "from" in value and "data" in value:
            table = Section(section.source, (*section.keys, "args", name), value)
            file = table.path("data", "")
            if not file.endswith(".safetensors"):
                table.fail("data", f"is {file!r}, and weights are a .safetensors file")
            files[name] = root / file
    return files


def _statics(section: Section) -> dict[str, object]:
    table, path = section.table("static"), section.source.path
    return {name: static_of(value, path, (*table.keys, name)) for name, value in table.data.items()}


def _compiler_options(section: Section) -> Mapping[str, str | int | bool | float]:
    from olympus.stages import checked_options  # this loads the compiler, and few targets need it

    table = section.table("compiler-options")
    options: dict[str, str | int | bool | float] = {}
    for name, value in table.data.items():
        try:
            options |= checked_options({name: value})
        except UsageError as error:
            table.fail(name, f"cannot be used: {error}", error.hint)
    return options


def _backends(section: Section, devices: Devices) -> tuple[olympus.Target, ...]:
    names = section.texts("backends", ("cpu",))
    if not names:
        section.wrong("backends", "an array of at least one backend", [])
    try:
        return tuple(dict.fromkeys(parse_backend(name, own=devices) for name in names))
    except UsageError as error:
        section.fail("backends", f"is invalid: {error}", error.hint)
