"""The placement of a target's arrays: its mesh and shardings, in the compiler's form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import olympus
from olympus.errors import ShardingError, UsageError
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from olympus.stages import array_trees as tree
from olympus.tree_util import keystr
from olympus_cli.spec.mesh import OutSharding, ShardingSpec, misfit_of
from olympus_cli.spec.model import ShapeSpec, TargetSpec
from olympus_cli.spec.target_table import at_key, with_line
from olympus_cli.text.nearest import did_you_mean


def target_mesh(spec: TargetSpec) -> AbstractMesh | None:
    """Return the mesh of a target; None if it has none."""
    return AbstractMesh(tuple(spec.mesh.values()), tuple(spec.mesh)) if spec.mesh else None


def _sharding(declared: ShardingSpec, spec: TargetSpec) -> NamedSharding:
    mesh = target_mesh(spec)
    assert mesh is not None
    return NamedSharding(mesh, PartitionSpec(*declared))


def placed(
    structs: Any,
    declared: ShardingSpec | None,
    spec: TargetSpec,
    mapped: Callable[[Callable[[Any], Any], Any], Any] = tree.map,
) -> Any:
    """Return the types of an argument's arrays, each with the declared sharding.

    `mapped` applies a function to each type of a tree.

    Raises:
        UsageError: it cannot cut one of them into equal parts.
    """
    if declared is None or not spec.mesh:
        return structs
    sharding = _sharding(declared, spec)

    def with_sharding(struct: Any) -> olympus.ShapeDtypeStruct:
        try:
            return olympus.ShapeDtypeStruct(struct.shape, struct.dtype, sharding=sharding)
        except ShardingError as error:
            raise UsageError(f"the sharding of an argument of {spec.name}: {error}") from error

    return mapped(with_sharding, structs)


def results_placed(traced: olympus.stages.Traced, spec: TargetSpec) -> olympus.stages.Traced:
    """Return the program with the shardings of its results from `out-sharding` of its target.

    Raises:
        UsageError: a key or a sharding does not fit the result.
    """
    if not spec.mesh or spec.out_sharding in (None, {}):  # an empty table
        return traced
    shardings = _result_shardings(
        spec.out_sharding, traced.out_info, _Place(("out-sharding",), ()), spec
    )
    return traced.with_out_shardings(tree.unflatten(tree.structure(traced.out_info), shardings))


class _Place(NamedTuple):
    """The place of a part of a result: its keys in olympus.toml, and its path in the result."""

    keys: tuple[str, ...]
    path: tuple[Any, ...]

    def label(self, path: tuple[Any, ...] = ()) -> str:
        """Return the name of the part, or of the value at a path in it, for messages."""
        parts = keystr((*self.path, *path))
        return f"result{parts}" if parts else "the result"


def _result_shardings(
    declared: OutSharding, result: Any, place: _Place, spec: TargetSpec
) -> list[NamedSharding | None]:
    """Return the shardings of the arrays of a result, or of a part of it, in tree order."""
    with at_key(spec, *place.keys):
        return _shardings(declared, result, place, spec)


def _shardings(
    declared: OutSharding, result: Any, place: _Place, spec: TargetSpec
) -> list[NamedSharding | None]:
    if declared is None:
        return [None] * len(tree.leaves(result))
    if not isinstance(declared, dict):
        return _one_for_all(declared, result, place, spec)
    what = f"{'.'.join(place.keys)} of {spec.name}"
    if not isinstance(result, tuple | list | dict):
        raise UsageError(
            f"{what} is a table, with a sharding for each key of a dict or position in a tuple, "
            f"and {place.label()} is {_kind(result)}",
            hint=f'write {place.keys[-1]} = ["{next(iter(spec.mesh))}"]',
        )
    parts = _parts(result)
    for key in declared:
        if key not in parts:
            raise UsageError(
                f"{what} has the key {key!r}, which {place.label()} does not have",
                hint=did_you_mean(key, [k for k in parts if isinstance(k, str)], "its keys are"),
            )
    shardings: list[NamedSharding | None] = []
    for key, (path, part) in parts.items():
        inner = _Place((*place.keys, str(key)), (*place.path, *path))
        shardings += _result_shardings(declared.get(key), part, inner, spec)
    return shardings


def _parts(result: Any) -> dict[Any, tuple[tuple[Any, ...], Any]]:
    """Return the parts of a tuple, list or dict by key, in tree order, each with its path.

    Positions are strings, like the keys of a table in olympus.toml.
    """
    leaves, _ = tree.flatten_with_path(result, is_leaf=lambda part: part is not result)
    if isinstance(result, dict):
        return {getattr(path[0], "key", i): (path, part) for i, (path, part) in enumerate(leaves)}
    return {str(i): (path, part) for i, (path, part) in enumerate(leaves)}


def _one_for_all(
    declared: ShardingSpec, result: Any, place: _Place, spec: TargetSpec
) -> list[NamedSharding | None]:
    leaves, _ = tree.flatten_with_path(result)
    for path, struct in leaves:
        array = f"{place.label(path)} ({ShapeSpec(str(struct.dtype), struct.shape)})"
        misfit = misfit_of(struct.shape, declared, spec.mesh, array)
        if misfit is not None:
            raise UsageError(
                f"{'.'.join(place.keys)} of {spec.name} {misfit.message}",
                hint="a dict may have a table, with a sharding for each of its keys"
                if path
                else misfit.hint,
            )
    return [_sharding(declared, spec)] * len(leaves)


def _kind(result: Any) -> str:
    if isinstance(result, olympus.ShapeDtypeStruct):
        return "an array"
    return f"a {type(result).__name__}" if result is not None else "None"


def check_placement(traced: olympus.stages.Traced, spec: TargetSpec) -> None:
    """Check that the program runs on the devices of the target's mesh, if it has one.

    Raises:
        UsageError: the program does not run on the devices of the target's mesh.
    """
    where = traced.placement()
    if not spec.mesh:
        return
    if where is None and spec.num_devices > 1:
        error = UsageError(
            f"{spec.name} has a mesh of {spec.num_devices} devices, and no argument or result has "
            "a sharding",
            hint='such as args.x = { shape = "f32[64,8]", sharding = ["'
            + next(iter(spec.mesh))
            + '"] }',
        )
        raise with_line(error, spec, "mesh")
    if where is not None and where.num_devices != spec.num_devices:
        error = UsageError(
            f"{spec.name} has a mesh of {spec.num_devices} devices, and its function needs "
            f"{where.num_devices}"
        )
        raise with_line(error, spec, "mesh")
