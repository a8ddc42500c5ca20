"""The results of a program that replace its arguments, as in a training step.

The next call takes these results as arguments, so they must have the shardings of the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from olympus_cli.shard.candidates import Path
from olympus_cli.spec.mesh import OutSharding, ShardingSpec

#: A tree of dicts and lists with the texts of shapes as leaves; None for any other tree.
Plain = str | dict[str, "Plain"] | list["Plain"] | None


class ArgumentShapes(NamedTuple):
    """An argument: its path in the target, the name of its parameter, and its shapes."""

    path: Path
    name: str
    shapes: Plain
    donated: bool = False


def paired_results(arguments: Sequence[ArgumentShapes], result: Plain) -> dict[Path, Path]:
    """Return the argument that the result, or an item of it, replaces, by the path of that item.

    Both have the same shapes in the same tree.  An item of a dict replaces the argument of the same
    name.  The other items and arguments of a type are paired in order, if there are as many items
    as arguments.  If any argument is donated, only donated arguments are paired in order.

    >>> w, x = ArgumentShapes(("w",), "w", "f32[8]"), ArgumentShapes(("x",), "x", "f32[4]")
    >>> paired_results([w, x], ["f32[8]", "f32[]"])
    {(0,): ('w',)}
    """
    parts = _parts(result) if all(a.shapes != result for a in arguments) else {(): result}
    pairs: dict[Path, Path] = {
        path: a.path
        for path, shapes in parts.items()
        for a in arguments
        if path == (a.name,) and shapes == a.shapes
    }
    left = [a for a in arguments if a.path not in pairs.values()]
    pool = [a for a in left if a.donated] if any(a.donated for a in arguments) else left
    for shapes in parts.values():
        if shapes is None:
            continue
        parameters = [a.path for a in pool if a.shapes == shapes]
        results = [p for p, part in parts.items() if part == shapes and p not in pairs]
        if len(parameters) == len(results):
            pairs.update(zip(results, parameters, strict=True))
    return {path: pairs[path] for path in parts if path in pairs}


def _parts(result: Plain) -> dict[Path, Plain]:
    if isinstance(result, dict):
        return {(key,): part for key, part in result.items()}
    return {(i,): part for i, part in enumerate(result)} if isinstance(result, list) else {}


def results_like(pairs: Mapping[Path, Path], shardings: Mapping[Path, ShardingSpec]) -> OutSharding:
    """Return the `out-sharding` of results that replace arguments with these shardings."""
    tree: dict[str, OutSharding] = {}
    for result, argument in pairs.items():
        for path, sharding in shardings.items():
            if path[: len(argument)] == argument:
                keys = [str(key) for key in (*result, *path[len(argument) :])]
                if not keys:
                    return sharding
                _put(tree, keys, sharding)
    return tree or None


def _put(tree: dict[str, OutSharding], keys: Sequence[str], sharding: ShardingSpec) -> None:
    first, *rest = keys
    if not rest:
        tree[first] = sharding
        return
    inner = tree.setdefault(first, {})
    assert isinstance(inner, dict)
    _put(inner, rest, sharding)
