"""Where the arrays of a target lie: its mesh and shardings, as the compiler takes them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import olympus
from olympus import tree
from olympus.errors import ShardingError, UsageError
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from olympus.tree_util import keystr
from olympus_cli.nearest import did_you_mean
from olympus_cli.spec.mesh import OutSharding, ShardingSpec, misfit_of
from olympus_cli.spec.model import ShapeSpec, TargetSpec

__all__ = ["ask_for_devices", "check_placement", "placed", "results_placed"]

_COUNT = "OLYMPUS_NUM_CPU_DEVICES"


def ask_for_devices(count: int) -> None:
    """Let the CPU have as many devices as a program needs, where the user does not say.

    Where that is one, a mesh or a program of several that is met first says how many.  It must be
    called in the program's own process, and has an effect before anything asks for its devices
    alone.
    """
    if (os.environ.get(_COUNT) or "auto") == "auto":
        os.environ[_COUNT] = str(count) if count > 1 else "auto"


def _sharding(said: ShardingSpec, spec: TargetSpec) -> NamedSharding:
    mesh = AbstractMesh(tuple(spec.mesh.values()), tuple(spec.mesh))
    return NamedSharding(mesh, PartitionSpec(*said))


def placed(structs: Any, said: ShardingSpec | None, spec: TargetSpec) -> Any:
    """The types of an argument's arrays, with a sharding that is said of each of them.

    Raises:
        UsageError: it cannot cut one of them into equal parts.
    """
    if said is None or not spec.mesh:
        return structs
    sharding = _sharding(said, spec)

    def one(struct: Any) -> olympus.ShapeDtypeStruct:
        try:
            return olympus.ShapeDtypeStruct(struct.shape, struct.dtype, sharding=sharding)
        except ShardingError as error:
            raise UsageError(f"the sharding of an argument of {spec.name}: {error}") from error

    return tree.map(one, structs)


def results_placed(traced: olympus.stages.Traced, spec: TargetSpec) -> olympus.stages.Traced:
    """The program with the shardings that `out-sharding` of its target says of its results.

    Raises:
        UsageError: a key or a sharding does not fit the result.
    """
    if spec.out_sharding is None or not spec.mesh:
        return traced
    told = _told(spec.out_sharding, traced.out_info, ("out-sharding",), spec)
    return traced.with_out_shardings(told)


def _told(said: OutSharding, result: Any, keys: tuple[str, ...], spec: TargetSpec) -> Any:
    """A tree prefix of a result, or of a part of it, whose sharding is said at `keys`."""
    if said is None:
        return None
    if not isinstance(said, dict):
        return _one_for_all(said, result, keys, spec)
    what = f"{'.'.join(keys)} of {spec.name}"
    if isinstance(result, tuple | list):
        parts: dict[Any, Any] = {str(i): part for i, part in enumerate(result)}
    elif isinstance(result, dict):
        parts = result
    else:
        raise UsageError(
            f"{what} is a table, with a sharding for each key of a dict or position in a tuple, "
            f"and {_called(keys)} is {_kind(result)}",
            hint=f'write {keys[-1]} = ["{next(iter(spec.mesh))}"]',
        )
    for key in said:
        if key not in parts:
            raise UsageError(
                f"{what} has the key {key!r}, which {_called(keys)} does not have",
                hint=did_you_mean(key, [k for k in parts if isinstance(k, str)], "its keys are"),
            )
    told = {key: _told(said.get(key), part, (*keys, key), spec) for key, part in parts.items()}
    if isinstance(result, dict):
        return told
    is_named = hasattr(result, "_fields")
    return type(result)(*told.values()) if is_named else type(result)(told.values())


def _one_for_all(
    said: ShardingSpec, result: Any, keys: tuple[str, ...], spec: TargetSpec
) -> NamedSharding:
    for path, struct in tree.leaves_with_path(result):
        array = f"{_called(keys, path)} ({ShapeSpec(str(struct.dtype), struct.shape)})"
        misfit = misfit_of(struct.shape, said, spec.mesh, array)
        if misfit is not None:
            raise UsageError(
                f"{'.'.join(keys)} of {spec.name} {misfit.message}",
                hint="a dict may have a table, with a sharding for each of its keys"
                if path
                else misfit.hint,
            )
    return _sharding(said, spec)


def _called(keys: Sequence[str], path: Any = ()) -> str:
    """What the part of a result is called that is said at `keys`, and from there at a path."""
    told = (f"[{key}]" if key.isdigit() else f"[{key!r}]" for key in keys[1:])
    parts = "".join(told) + keystr(path)
    return f"result{parts}" if parts else "the result"


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
        raise UsageError(
            f"{spec.name} has a mesh of {spec.num_devices} devices, and no argument or result has "
            "a sharding",
            hint='such as args.x = { shape = "f32[64,8]", sharding = ["'
            + next(iter(spec.mesh))
            + '"] }',
        )
    if where is not None and where.num_devices != spec.num_devices:
        raise UsageError(
            f"{spec.name} has a mesh of {spec.num_devices} devices, and its function asks for "
            f"{where.num_devices}"
        )
