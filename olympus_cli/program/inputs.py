"""The input arrays of a program: drawn, computed by a function, or read by `input_files`.

With the same seed an argument gets the same values, independent of the other arguments and of the
build.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from olympus.artifact import dotted_name
from olympus.errors import UsageError
from olympus.stages import ArgInfo
from olympus_cli.frontends.loading import load_target, values_from
from olympus_cli.process.memory import available_memory
from olympus_cli.program.input_files import (
    array_names,
    cast_array,
    check_type,
    file_inputs,
    is_integer,
    listed,
)
from olympus_cli.program.tensor_files import is_safetensors, safetensors_arrays, tensor_names
from olympus_cli.spec.inputs import InputSpec
from olympus_cli.spec.model import FromEntry, TargetSpec
from olympus_cli.spec.target_table import at_key, with_line
from olympus_cli.spec.toml import toml_key
from olympus_cli.terminal import console
from olympus_cli.text.nearest import did_you_mean, nearest
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import array_type, byte_size

Array = np.ndarray[Any, Any]

DEFAULT_INT_RANGE = (0, 8)  # small and nonnegative, so that integers can be tokens or indices
_MIN, _GREATEST = -(2**63), 2**64 - 1  # of all integers that a dtype has
_PIECE = 2**20  # elements that are drawn at a time, as float64 or int64
FLOAT_SCALE = 0.1  # keeps the activations of networks some hundred units wide near one


@dataclass(frozen=True)
class InputOptions:
    """The source of a program's inputs: `file` if it is given, else `seed`.

    `specs` are the declarations of `target` for single arguments that are not in `file`. `weights`
    is a .safetensors file with the values of some arguments, before all other sources.
    """

    file: Path | None = None
    seed: int = 0
    int_range: tuple[int, int] = DEFAULT_INT_RANGE
    specs: Mapping[str, InputSpec] = field(default_factory=dict)
    target: TargetSpec | None = None
    weights: Path | None = None

    def of(self, spec: TargetSpec) -> InputOptions:
        """Return the same options for a target, with its declarations of inputs."""
        weights = self.weights or spec.weights_file
        return replace(self, specs=spec.inputs, target=spec, weights=weights)

    def undeclared(self, leaves: Sequence[ArgInfo]) -> list[bool]:
        """Return, for each leaf, True if its value is drawn from the seed without a description.

        The value of any other leaf is in `file`, in `specs`, or one that the program has itself.
        """
        declared = {*_chosen(self.specs, leaves, self.target), *_defaults(self.target)}
        if self.weights is not None:
            declared |= {leaf.name for leaf in _in_file(self.weights, leaves)}
        return [self.file is None and leaf.name not in declared for leaf in leaves]

    def arrays(self, leaves: Sequence[ArgInfo]) -> list[Array]:
        """Return one array for each leaf; raises the errors of `file_inputs`."""
        if self.weights is not None:
            return self._with_weights(self.weights, leaves)
        options = self.seed, self.int_range, self.specs, self.target
        if self.file is None:
            return seeded_inputs(leaves, *options)
        absent = self._absent(self.file, leaves) if self.target is not None else []
        names = {leaf.name for leaf in absent}  # leaves of one type are equal
        present = [leaf for leaf in leaves if leaf.name not in names]
        from_file = iter(file_inputs(self.file, present, leaves))
        if not absent:
            return list(from_file)
        if described := [leaf.name for leaf in absent if leaf.name not in _defaults(self.target)]:
            come = "comes" if len(described) == 1 else "come"
            console.message(
                f"note: {listed(described)}, not in {display_path(self.file)}, {come} from the "
                "inputs of the target"
            )
        seeded = iter(seeded_inputs(leaves, *options, wanted=absent))
        return [next(seeded if leaf.name in names else from_file) for leaf in leaves]

    def _with_weights(self, weights: Path, leaves: Sequence[ArgInfo]) -> list[Array]:
        """Return the array of each leaf, from the file `weights` if it has it."""
        given = _in_file(weights, leaves)
        names = {leaf.name for leaf in given}
        arrays = safetensors_arrays(weights, given, _top(given, leaves), program=leaves)
        for leaf in given:
            check_type(arrays[leaf.name].dtype, arrays[leaf.name].shape, leaf, weights)
        rest = [leaf for leaf in leaves if leaf.name not in names]
        chosen = _chosen(self.specs, leaves, self.target)
        used = {chosen.get(leaf.name) for leaf in rest}
        specs = {key: spec for key, spec in self.specs.items() if key in used}
        others = iter(replace(self, weights=None, specs=specs).arrays(rest))
        return [
            cast_array(arrays[x.name], x, weights) if x.name in names else next(others)
            for x in leaves
        ]

    def _absent(self, file: Path, leaves: Sequence[ArgInfo]) -> list[ArgInfo]:
        """Return the leaves that `file` does not have, and whose values are described elsewhere.

        They are in `specs`, or the program itself has them.

        Raises:
            UsageError: neither has some leaf, and all arrays of the file are arguments.
        """
        names, defaults = array_names(file, leaves), _defaults(self.target)
        if names is None:
            return [leaf for leaf in leaves if leaf.name in defaults]
        declared = {*_chosen(self.specs, leaves, self.target), *defaults}
        absent = [leaf for leaf in leaves if leaf.name not in names]
        missing = [leaf.name for leaf in absent if leaf.name not in declared]
        if missing and names <= {leaf.name for leaf in leaves}:
            raise UsageError(
                f"{display_path(file)} lacks {listed(missing)}",
                hint=f"add {listed(missing)} to the file, or declare such inputs of the target in "
                f"olympus.toml: inputs.{toml_key(missing[0])} = {{ range = [0, 1] }}",
            )
        return [leaf for leaf in absent if leaf.name in declared]


def _in_file(weights: Path, leaves: Sequence[ArgInfo]) -> list[ArgInfo]:
    """Return the leaves whose arrays are in a .safetensors file.

    The file of one argument may leave its name out. All leaves of an argument are returned if the
    file has one of them.
    """
    with suppress(OSError, ValueError):  # `safetensors_arrays` has the message
        names = set(tensor_names(weights))
        tops = dict.fromkeys(_argument(leaf) for leaf in leaves)
        found = {_argument(leaf) for leaf in leaves if {leaf.name, dotted_name(leaf.name)} & names}
        if not found:
            found = {top for top in tops if _short_names(top, leaves) & names}
        return [leaf for leaf in leaves if _argument(leaf) in found]
    return []


def _argument(leaf: ArgInfo) -> str:
    """Return the name of the argument that a leaf is a part of."""
    return re.split(r"[\[.]", leaf.name, maxsplit=1)[0]


def _short_names(top: str, leaves: Sequence[ArgInfo]) -> set[str]:
    """Return the dotted names of the leaves of an argument without its own name."""
    return {
        dotted_name(leaf.name).removeprefix(f"{top}.") for leaf in leaves if _argument(leaf) == top
    }


def _top(given: Sequence[ArgInfo], leaves: Sequence[ArgInfo]) -> str | None:
    """Return the name of the only argument of a file; None for several."""
    tops = {_argument(leaf) for leaf in given or leaves}
    return tops.pop() if len(tops) == 1 else None


def seeded_inputs(
    leaves: Sequence[ArgInfo],
    seed: int = 0,
    int_range: tuple[int, int] = DEFAULT_INT_RANGE,
    specs: Mapping[str, InputSpec] | None = None,
    target: TargetSpec | None = None,
    wanted: Sequence[ArgInfo] | None = None,
) -> list[Array]:
    """Return an array for each leaf: floats from N(0, 0.1^2), integers from `int_range`, half-open.

    `specs` of `target` give other values for arguments, or parts of them, by name. From a range,
    only integers of the dtype are drawn. A range without any raises UsageError, and so does a name
    in `specs` that no argument has. Arrays that do not fit the memory raise MemoryError. Only the
    `wanted` leaves get arrays; None means all.

    >>> seeded_inputs([ArgInfo((3,), np.dtype("int32"), name="x")], seed=1)[0].shape
    (3,)
    """
    specs = specs or {}
    chosen = _chosen(specs, leaves, target)
    if wanted is not None:
        used = {chosen[leaf.name] for leaf in wanted if leaf.name in chosen}
        specs = {key: spec for key, spec in specs.items() if key in used}
    wanted = leaves if wanted is None else wanted
    check_input_memory(wanted)
    defaults = {name: x for name, x in _defaults(target).items() if name not in chosen}
    whole = {**defaults, **_whole_arguments(specs, chosen, leaves, target)}
    arrays = []
    for leaf in wanted:
        key = chosen.get(leaf.name)
        if leaf.name in whole:
            arrays.append(whole[leaf.name])
        elif key is None:
            arrays.append(_seeded(leaf, seed, int_range, None))
        else:
            with at_key(target, "inputs", key):
                arrays.append(_seeded(leaf, seed, int_range, specs[key]))
    return arrays


def _defaults(target: TargetSpec | None) -> dict[str, Array]:
    """Return the values that the program of a target has for its arguments, by name."""
    return {} if target is None else load_target(target).default_values()


def _whole_arguments(
    specs: Mapping[str, InputSpec],
    chosen: Mapping[str, str],
    leaves: Sequence[ArgInfo],
    target: TargetSpec | None,
) -> dict[str, Array]:
    """Return the arrays of arguments from a function or a .safetensors file, by name."""
    arrays: dict[str, Array] = {}
    for key, spec in specs.items():
        parts = [leaf for leaf in leaves if chosen.get(leaf.name) == key]
        with at_key(target, "inputs", key):
            arrays.update(_whole_argument(key, spec, parts, target))
    return arrays


def _whole_argument(
    key: str, spec: InputSpec, parts: Sequence[ArgInfo], target: TargetSpec | None
) -> dict[str, Array]:
    """Return the arrays of one argument; empty if each is drawn or read from a .npy file."""
    if spec.entry is not None and target is not None:
        arrays = _entry_arrays(spec.entry, spec.values, target, key)
        source = Path(spec.entry)
        _match(source, [leaf.name for leaf in parts], arrays)
    elif spec.file is not None and is_safetensors(spec.file):
        source = spec.file
        arrays = safetensors_arrays(source, parts, key)
    else:
        return {}
    for leaf in parts:
        check_type(arrays[leaf.name].dtype, arrays[leaf.name].shape, leaf, source)
    return {leaf.name: cast_array(arrays[leaf.name], leaf, source) for leaf in parts}


def _match(source: Path, names: Sequence[str], arrays: Mapping[str, Array]) -> None:
    """Raise UsageError unless a source has exactly the arrays of these names."""
    hint = f"the program takes {listed(names) or 'no arrays'}"
    if missing := [name for name in names if name not in arrays]:
        raise UsageError(f"{display_path(source)} lacks {listed(missing)}", hint=hint)
    if extra := [name for name in arrays if name not in names]:
        what = f"{display_path(source)} has {listed(extra)}"
        raise UsageError(f"{what}, which the program does not take", hint=hint)


def _entry_arrays(
    entry: str, values: Mapping[str, object], target: TargetSpec, key: str
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays that the function of `entry` returns, by the names of the parts of `key`.

    The function gets `values` and the target's statics by name; raises as
    `values_from` does.
    """
    arrays = values_from(target, FromEntry(entry, values))
    return {f"{key}{path}": np.asarray(array) for path, array in arrays}


def check_input_memory(leaves: Sequence[ArgInfo]) -> None:
    """Raise MemoryError if the arrays of all leaves need more memory than is available.

    Raises UsageError if one has a symbolic size.
    """
    for leaf in leaves:
        if not all(isinstance(size, int) for size in leaf.shape):
            kind = array_type(leaf.dtype_name, leaf.shape)
            raise UsageError(
                f"argument {leaf.name}, {kind}, has a symbolic size, and a value has fixed sizes",
                hint="give the shapes of the arguments with numbers: "
                f'--shapes "{leaf.name}=f32[8,128]"',
            )
    total, available = sum(leaf.bytes for leaf in leaves), available_memory()
    if available is None or total <= available:
        return
    largest = max(leaves, key=lambda leaf: leaf.bytes)
    kind = array_type(largest.dtype_name, largest.shape)
    needs = f"argument {largest.name}, {kind}, needs {byte_size(largest.bytes)}"
    if len(leaves) > 1:
        needs += f", all {len(leaves)} arguments {byte_size(total)}"
    raise MemoryError(f"{needs}, and {byte_size(available)} are available")


def _filled(leaf: ArgInfo, draw: Callable[[int], Array]) -> Array:
    """Return an array of the leaf, whose elements `draw` gives piece by piece, in order.

    A generator gives the same numbers in pieces as in one call. Of complex numbers, all real parts
    are drawn before the imaginary parts.
    """
    array = np.empty(leaf.shape, leaf.dtype)
    flat = array.reshape(-1)
    for part in (flat.real, flat.imag) if array.dtype.kind == "c" else (flat,):
        for start in range(0, part.size, _PIECE):
            piece = part[start : start + _PIECE]
            piece[...] = draw(piece.size).astype(part.dtype)
    return array


def _chosen(
    specs: Mapping[str, InputSpec], leaves: Sequence[ArgInfo], target: TargetSpec | None
) -> dict[str, str]:
    """Return the key in `specs` of each described leaf: the longest name that contains it."""
    key_of: dict[str, str] = {}
    used = set()
    for leaf in leaves:
        fitting = [key for key in specs if _is_part(leaf.name, key)]
        if fitting:
            key_of[leaf.name] = max(fitting, key=len)
            used.update(fitting)
    for key in specs:
        if key not in used:
            names = [leaf.name for leaf in leaves]
            near = did_you_mean(key, names) if nearest(key, names) else None
            error = UsageError(
                f"the target describes the input {key!r}, and the program has no such argument",
                hint=near or f"it takes {listed(names) or 'no arrays'}",
            )
            raise with_line(error, target, "inputs", key)
    return key_of


def _is_part(name: str, key: str) -> bool:
    """Return True if `key` is the name of the argument or of a tree around it; * is any text."""
    pattern = ".*".join(map(re.escape, key.split("*")))
    return re.fullmatch(rf"{pattern}([\[.].*)?", name) is not None


def _drawn(leaf: ArgInfo, spec: InputSpec, rng: np.random.Generator) -> Array:
    """Return the array of a leaf that a target describes."""
    dtype, shape = leaf.dtype, leaf.shape
    if spec.file is not None:
        return file_inputs(spec.file, [leaf])[0]
    if spec.range is not None and is_integer(dtype):
        low, high = (math.ceil(x) for x in spec.range)
        if low >= high:
            raise UsageError(f"the range of the input {leaf.name} has no integer")
        return _integers(leaf, (low, high), rng)
    if dtype == np.bool_ or is_integer(dtype):
        form = "range" if is_integer(dtype) else "file"
        raise UsageError(
            f"the input {leaf.name} is {array_type(leaf.dtype_name, shape)}, and takes a {form}"
        )

    part = np.empty(0, dtype).real.dtype

    def values(count: int) -> Array:
        with np.errstate(all="ignore"):
            numbers = _floats(spec, rng, count).astype(part)
        if not np.isfinite(numbers).all():
            raise _overflow(leaf, spec)
        return numbers

    return _filled(leaf, values)


def _floats(spec: InputSpec, rng: np.random.Generator, count: int) -> Array:
    """Return numbers of the distribution in float64; infinite if float64 is too narrow."""
    if spec.range is not None:
        low, high = map(float, spec.range)
        if math.isinf(high - low):
            return np.full(count, np.inf)
        return rng.uniform(low, high, count)
    mean, deviation = spec.normal or (0.0, FLOAT_SCALE)
    return np.asarray(float(mean) + float(deviation) * rng.standard_normal(count))


def _overflow(leaf: ArgInfo, spec: InputSpec) -> UsageError:
    """Return the error for a declared distribution with numbers not finite in the dtype."""
    name, pair = ("range", spec.range) if spec.range is not None else ("normal", spec.normal)
    low, high = pair or (0.0, FLOAT_SCALE)
    largest = ml_dtypes.finfo(np.empty(0, leaf.dtype).real.dtype).max
    return UsageError(
        f"argument {leaf.name} is {array_type(leaf.dtype_name, leaf.shape)}, and numbers of its "
        f"declared input {{ {name} = [{low:g}, {high:g}] }} are not finite in {leaf.dtype_name}",
        hint=f"the largest number of the dtype is {float(largest):.6g}: declare smaller numbers",
    )


def _integers(leaf: ArgInfo, int_range: tuple[int, int], rng: np.random.Generator) -> Array:
    low, high = _bounds(leaf, int_range)
    wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
    return _filled(leaf, lambda count: rng.integers(low, high, count, wide, endpoint=True))


def _seeded(
    leaf: ArgInfo, seed: int, int_range: tuple[int, int], spec: InputSpec | None = None
) -> Array:
    rng = np.random.default_rng([seed, zlib.crc32(leaf.name.encode())])
    dtype = leaf.dtype
    if spec is not None:
        return _drawn(leaf, spec, rng)
    if dtype == np.bool_:
        return _filled(leaf, lambda count: rng.integers(0, 2, count))
    if is_integer(dtype):
        return _integers(leaf, int_range, rng)
    return _filled(leaf, lambda count: rng.standard_normal(count) * FLOAT_SCALE)


def _bounds(leaf: ArgInfo, int_range: tuple[int, int]) -> tuple[int, int]:
    """Return the least and the greatest integer in the range that fit the leaf's dtype."""
    limits = ml_dtypes.iinfo(leaf.dtype)
    low, high = max(int_range[0], int(limits.min)), min(int_range[1] - 1, int(limits.max))
    if low > high:
        raise UsageError(
            f"no integer of {int_range[0]}:{int_range[1]} fits argument {leaf.name}: "
            f"{leaf.dtype_name} holds {limits.min} to {limits.max}",
            hint="give an --int-range that overlaps with these, or --inputs",
        )
    return low, high


def parse_int_range(text: str) -> tuple[int, int]:
    """Return the bounds of `LOW:HIGH`, half-open; raise UsageError for any other text.

    >>> parse_int_range("0:50257")
    (0, 50257)
    """
    low, _, high = text.partition(":")
    bounds = (0, 0)
    with suppress(ValueError):  # also for a number that is too long
        if text.isascii():
            bounds = int(low), int(high)
    if bounds[0] >= bounds[1]:
        raise UsageError(
            f"an integer range must be LOW:HIGH with LOW < HIGH, such as 0:8; got {text!r:.80}"
        )
    if bounds[0] < _MIN or bounds[1] > _GREATEST + 1:
        raise UsageError(
            f"an integer range must be within {_MIN}:{_GREATEST + 1}, the range of int64 "
            f"and uint64 together; got {text!r:.80}"
        )
    return bounds
