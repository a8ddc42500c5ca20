"""Which results of a program replace which of its arguments, as those of a training step do.

They are called on what they returned, so these results must lie where the arguments are taken from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from olympus_cli.shard.candidates import Path
from olympus_cli.spec.mesh import OutSharding, ShardingSpec

__all__ = ["Given", "Plain", "replaced", "results_like"]

#: A tree of dicts and lists whose leaves are the texts of shapes; None where it is no such tree.
Plain = str | dict[str, "Plain"] | list["Plain"] | None


class Given(NamedTuple):
    """An argument: where it stands in the target, the name of its parameter, and its shapes."""

    path: Path
    name: str
    shapes: Plain
    donated: bool = False


def replaced(arguments: Sequence[Given], result: Plain) -> dict[Path, Path]:
    """The argument that the result, or an item of it, replaces, by the path of that item.

    It has the same shapes in the same tree, and is the item of a dict that is called as the
    argument.  Or there are as many results of that type as arguments, or as donated arguments where
    any is donated: then they are taken in their order.

    >>> replaced([Given(("w",), "w", "f32[8]"), Given(("x",), "x", "f32[4]")], ["f32[8]", "f32[]"])
    {(0,): ('w',)}
    """
    parts = _parts(result) if all(a.shapes != result for a in arguments) else {(): result}
    found: dict[Path, Path] = {
        path: a.path
        for path, shapes in parts.items()
        for a in arguments
        if path == (a.name,) and shapes == a.shapes
    }
    left = [a for a in arguments if a.path not in found.values()]
    pool = [a for a in left if a.donated] if any(a.donated for a in arguments) else left
    for shapes in parts.values():
        if shapes is None:
            continue
        taken = [a.path for a in pool if a.shapes == shapes]
        given = [p for p, each in parts.items() if each == shapes and p not in found]
        if len(taken) == len(given):
            found.update(zip(given, taken, strict=True))
    return {path: found[path] for path in parts if path in found}


def _parts(result: Plain) -> dict[Path, Plain]:
    if isinstance(result, dict):
        return {(key,): part for key, part in result.items()}
    return {(i,): part for i, part in enumerate(result)} if isinstance(result, list) else {}


def results_like(pairs: Mapping[Path, Path], shardings: Mapping[Path, ShardingSpec]) -> OutSharding:
    """The `out-sharding` of results that replace arguments, whose arrays have these shardings."""
    said: dict[str, OutSharding] = {}
    for result, argument in pairs.items():
        for path, sharding in shardings.items():
            if path[: len(argument)] == argument:
                keys = [str(key) for key in (*result, *path[len(argument) :])]
                if not keys:
                    return sharding
                _put(said, keys, sharding)
    return said or None


def _put(said: dict[str, OutSharding], keys: Sequence[str], sharding: ShardingSpec) -> None:
    first, *rest = keys
    if not rest:
        said[first] = sharding
        return
    inner = said.setdefault(first, {})
    assert isinstance(inner, dict)
    _put(inner, rest, sharding)
