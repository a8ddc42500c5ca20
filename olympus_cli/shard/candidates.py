"""Candidate shardings of a target's arguments, and their text in olympus.toml."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import ml_dtypes  # noqa: F401  (registers bfloat16 and the 8-bit floats with numpy)
import numpy as np

from olympus_cli.spec.matrix import Values, fill
from olympus_cli.spec.mesh import OutSharding, ShardingSpec, sharding_text
from olympus_cli.spec.model import FROM_KEYS, ArgSpec, FromEntry, OfClass, ShapeSpec, TargetSpec
from olympus_cli.spec.shapes import parse_arg

_ARRAYS = 4  # the number of largest arrays that are split
_BESIDES = 8  # candidates that split the largest arrays of other arguments
_TOGETHER = 3  # arrays for each axis in combined candidates
_MAX = 32  # candidates of a kind

#: The path of an array: the position or name of an argument, and keys into it.
Path = tuple[str | int, ...]

_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Candidate:
    """A choice of shardings, by path of the array; the compiler chooses all others."""

    shardings: Mapping[Path, ShardingSpec]

    def __str__(self) -> str:
        parts = [
            f"{argument_name(path)} {sharding_text(s)}" for path, s in self.shardings.items() if s
        ]
        return ", ".join(parts) or "nothing split"

    def merged(self, other: Candidate, spec: TargetSpec) -> Candidate | None:
        """Return both candidates combined.

        Return None if together they split an array unevenly, or along one axis twice.
        """
        shardings = dict(self.shardings)
        shapes = dict(arrays(spec))
        for path, theirs in other.shardings.items():
            both = itertools.zip_longest(shardings.get(path, ()), theirs, fillvalue=())
            entries = tuple((*mine, *more) for mine, more in both)
            names = [name for entry in entries for name in entry]
            if len(set(names)) < len(names):
                return None
            sizes = zip(shapes[path].shape, entries, strict=False)
            if any(n % math.prod(spec.mesh[a] for a in entry) for n, entry in sizes):
                return None
            shardings[path] = entries
        return Candidate(shardings)


def argument_name(path: Path) -> str:
    """Return the name of an array in messages.

    >>> argument_name(("params", "layers", 0))
    'params.layers[0]'
    """
    first, *rest = path
    text = f"argument {first + 1}" if isinstance(first, int) else first
    return text + "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in rest)


def arrays(spec: TargetSpec) -> Iterator[tuple[Path, ShapeSpec]]:
    """Yield the path and the shape of each array among the arguments of a target."""
    for i, arg in enumerate(spec.args):
        yield from _leaves((i,), arg)
    for name, arg in spec.kwargs.items():
        yield from _leaves((name,), arg)


def _leaves(path: Path, arg: ArgSpec) -> Iterator[tuple[Path, ShapeSpec]]:
    if isinstance(arg, ShapeSpec):
        yield path, arg
    elif isinstance(arg, dict | list):
        parts = arg.items() if isinstance(arg, dict) else enumerate(arg)
        for key, part in parts:
            yield from _leaves((*path, key), part)


def _bytes(shape: ShapeSpec) -> int:
    return math.prod(shape.sizes) * np.dtype(shape.dtype).itemsize


def whole(spec: TargetSpec) -> Candidate:
    """Return the candidate with every array replicated, with which the others are compared."""
    return Candidate({path: () for path, _ in arrays(spec)})


def singles(spec: TargetSpec) -> list[Candidate]:
    """Return the candidates that split one dimension of one array along one axis of the mesh.

    The arrays are the largest ones, and the largest of each other argument.  The latter include the
    batch of a training step, which is small compared with the parameters.
    """
    ranked = sorted(arrays(spec), key=lambda item: -_bytes(item[1]))
    largest, others = ranked[:_ARRAYS], dict[str | int, tuple[Path, ShapeSpec]]()
    for path, shape in ranked:
        others.setdefault(path[0], (path, shape))
    besides = [splits for splits in others.values() if splits not in largest]
    candidates = [splits for _, splits in sorted(_splits(spec, besides), key=lambda item: item[0])]
    return [splits for _, splits in _splits(spec, largest)][:_MAX] + candidates[:_BESIDES]


def _splits(
    spec: TargetSpec, chosen: Sequence[tuple[Path, ShapeSpec]]
) -> Iterator[tuple[int, Candidate]]:
    """Yield a dimension and its candidate, for each dimension that the size of an axis divides."""
    for axis, size in spec.mesh.items():
        for path, shape in chosen:
            for d, n in enumerate(shape.sizes):
                if size > 1 and n >= size and n % size == 0:
                    yield d, Candidate({path: (*[()] * d, (axis,))})


def combined(ranked: Sequence[Candidate], spec: TargetSpec) -> list[Candidate]:
    """Return combinations of the best candidates in `ranked`, without candidates of `ranked`.

    A combination has one candidate for each axis, or two of one axis that split different arrays.
    `ranked` are the candidates of `singles`, the best first.
    """
    of_axis: dict[str, dict[Path, Candidate]] = {}
    for other in ranked:
        ((path, entries),) = other.shardings.items()
        of_axis.setdefault(entries[-1][0], {}).setdefault(path, other)
    best = [_together(other) for other in of_axis.values()]
    groups = [*itertools.product(*best), *(tuple(other[:2]) for other in best)]
    combinations: list[Candidate] = []
    for group in groups[:_MAX]:
        candidate: Candidate | None = group[0]
        for other in group[1:]:
            candidate = candidate and candidate.merged(other, spec)
        if candidate is not None and candidate not in (*ranked, *combinations):
            combinations.append(candidate)
    return combinations


def _together(candidates: Mapping[Path, Candidate]) -> list[Candidate]:
    """Return the first candidates.

    If possible, the last one splits another argument than the ones before it.
    """
    first = list(candidates)[:_TOGETHER]
    arguments = {path[0] for path in first[:-1]}
    last = [path for path in candidates if path[0] not in arguments]
    if len(first) == _TOGETHER and last:
        first[-1] = last[0]
    return [candidates[path] for path in first]


def placed_target(
    spec: TargetSpec, candidate: Candidate, results: OutSharding = None
) -> TargetSpec:
    """Return the target with the shardings of a candidate and of the results, and no others."""

    def placed(path: Path, arg: ArgSpec) -> ArgSpec:
        if isinstance(arg, ShapeSpec):
            return replace(arg, sharding=candidate.shardings.get(path))
        if isinstance(arg, dict):
            return {key: placed((*path, key), part) for key, part in arg.items()}
        if isinstance(arg, list):
            return [placed((*path, i), part) for i, part in enumerate(arg)]
        return replace(arg, sharding=None) if isinstance(arg, FromEntry) else arg

    return replace(
        spec,
        args=tuple(placed((i,), arg) for i, arg in enumerate(spec.args)),
        kwargs={name: placed((name,), arg) for name, arg in spec.kwargs.items()},
        out_sharding=results,
    )


def toml_text(spec: TargetSpec) -> str:
    """Return the mesh, arguments and `out-sharding` of a target, as lines for olympus.toml.

    Shapes and `from` keep the text of olympus.toml if the target was read from it.
    """
    axes = ", ".join(f"{name} = {size}" for name, size in spec.mesh.items())
    lines = [f"mesh = {{ {axes} }}"]
    written = spec.toml_args
    if spec.args:
        lines.append("args = [")
        lines += [
            f"  {_as_written(arg, _part(written, i), spec.matrix)},"
            for i, arg in enumerate(spec.args)
        ]
        lines.append("]")
    lines += [
        f"args.{_quoted(name)} = {_as_written(arg, _part(written, name), spec.matrix)}"
        for name, arg in spec.kwargs.items()
    ]
    if spec.out_sharding is not None:
        lines.append(f"out-sharding = {_out(spec.out_sharding)}")
    return "\n".join(lines)


def _part(written: object, key: str | int) -> object:
    """Return an item of a value in olympus.toml; None if there is none."""
    if isinstance(written, list) and isinstance(key, int) and key < len(written):
        return written[key]
    return written.get(key) if isinstance(written, dict) else None


def _as_written(arg: ArgSpec, written: object, values: Values) -> str:
    """Return an argument as TOML; its shapes and its `from` keep the text of olympus.toml."""
    if isinstance(arg, ShapeSpec):
        return _shape(arg, written, values)
    if _is_from(written):
        return _from(arg, written)
    if isinstance(arg, dict):
        parts = (
            f"{_quoted(key)} = {_as_written(item, _part(written, key), values)}"
            for key, item in arg.items()
        )
        return f"{{ {', '.join(parts)} }}"
    if isinstance(arg, list):
        parts = (_as_written(item, _part(written, i), values) for i, item in enumerate(arg))
        return f"[{', '.join(parts)}]"
    return _toml(arg)


def _is_from(written: object) -> TypeGuard[dict[str, object]]:
    """Return True for `{ from = "module:f" }`, with no keys other than `with` and `sharding`."""
    if not isinstance(written, dict) or not written.keys() <= {*FROM_KEYS}:
        return False
    return isinstance(written.get("from"), str)


def _shape(arg: ShapeSpec, written: object, values: Values) -> str:
    text = written.get("shape") if isinstance(written, dict) else written
    filled = fill(text, values)
    plain = replace(arg, sharding=None)
    if not isinstance(text, str) or not isinstance(filled, str) or parse_arg(filled) != plain:
        text = str(plain)
    if arg.sharding is None:
        return json.dumps(text)
    return f"{{ shape = {json.dumps(text)}, sharding = {sharding_text(arg.sharding)} }}"


def _from(arg: ArgSpec, written: Mapping[str, object]) -> str:
    """Return an argument from a function as TOML.

    Its arrays are written out if one of them is split, or if their shardings differ.
    """
    shardings = {shape.sharding for _, shape in _leaves((), arg)}
    if len(shardings) > 1 or any(shardings):
        return _toml(arg)
    entry = {key: value for key, value in written.items() if key != "sharding"}
    return _toml({**entry, "sharding": []} if shardings == {()} else entry)


def _out(sharding: OutSharding) -> str:
    if isinstance(sharding, dict):
        return f"{{ {', '.join(f'{_quoted(k)} = {_out(part)}' for k, part in sharding.items())} }}"
    return sharding_text(sharding or ())


def _quoted(key: str) -> str:
    return key if _KEY.fullmatch(key) else json.dumps(key)


def _toml(arg: object) -> str:
    if isinstance(arg, ShapeSpec):
        if arg.sharding is None:
            return f'"{arg}"'
        return f'{{ shape = "{arg}", sharding = {sharding_text(arg.sharding)} }}'
    if isinstance(arg, FromEntry):
        values = f", with = {_toml(arg.values)}" if arg.values else ""
        return f"{{ from = {json.dumps(arg.entry)}{values} }}"
    if isinstance(arg, OfClass):
        return _toml({"type": arg.entry, **arg.parts})
    if isinstance(arg, Mapping):
        return f"{{ {', '.join(f'{_quoted(k)} = {_toml(v)}' for k, v in arg.items())} }}"
    if isinstance(arg, list | tuple):
        return f"[{', '.join(map(_toml, arg))}]"
    return json.dumps(arg)
