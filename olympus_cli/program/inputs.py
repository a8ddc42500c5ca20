"""Arrays to run a program on: made from a seed, or read from .npy and .npz files.

The same seed gives an argument the same values whatever else the program takes and whichever build
of it is run.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, BinaryIO

import ml_dtypes
import numpy as np

from olympus.errors import UsageError
from olympus.files import open_regular
from olympus_cli import console
from olympus_cli.available_memory import available_memory
from olympus_cli.nearest import renamed
from olympus_cli.places import shown
from olympus_cli.program.leaves import RESULT, Leaf
from olympus_cli.program.made_inputs import entry_arrays
from olympus_cli.program.tensor_files import (
    dotted,
    is_safetensors,
    safetensors_arrays,
    tensor_names,
)
from olympus_cli.spec.inputs import InputSpec
from olympus_cli.spec.model import TargetSpec
from olympus_cli.units import array_type, byte_size

__all__ = [
    "DEFAULT_INT_RANGE",
    "InputOptions",
    "check_memory",
    "file_inputs",
    "npz_bytes",
    "parse_int_range",
    "portable",
    "seeded_inputs",
]

Array = np.ndarray[Any, Any]

DEFAULT_INT_RANGE = (0, 8)  # small and nonnegative, so that integers can be tokens or indices
_LEAST, _GREATEST = -(2**63), 2**64 - 1  # of all integers that a dtype has
_PIECE = 2**20  # elements that are drawn at a time, as float64 or int64
_TOP = re.compile(r"[^\[.]*")  # an argument's name, without the path in its tree
_BARE = re.compile(r"[\w-]+", re.ASCII)  # a key of TOML without quotes
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_BYTES = 2**40  # of a file
_LONGEST_HEADER = 10_000  # bytes; what NumPy takes
_LONGEST_NAME = 2**16 - 1 - len(".npy")  # bytes; what a zip file takes
FLOAT_SCALE = 0.1  # keeps the activations of networks some hundred units wide near one


@dataclass(frozen=True)
class InputOptions:
    """Where a program's inputs come from: `file` if it is given, else `seed`.

    `specs` are what `target` says of single arguments, for those that the `file` does not have.
    """

    file: Path | None = None
    seed: int = 0
    int_range: tuple[int, int] = DEFAULT_INT_RANGE
    specs: Mapping[str, InputSpec] = field(default_factory=dict)
    target: TargetSpec | None = None

    def of(self, spec: TargetSpec) -> InputOptions:
        """The same for a target, with what it says of its inputs."""
        return replace(self, specs=spec.inputs, target=spec)

    def undeclared(self, leaves: Sequence[Leaf]) -> list[bool]:
        """Which of the leaves neither `file` nor `specs` describe."""
        declared = _chosen(self.specs, leaves)
        return [self.file is None and leaf.name not in declared for leaf in leaves]

    def arrays(self, leaves: Sequence[Leaf]) -> list[Array]:
        """One array for each leaf; raises as `file_inputs` does."""
        how = self.seed, self.int_range, self.specs, self.target
        if self.file is None:
            return seeded_inputs(leaves, *how)
        absent = self._absent(self.file, leaves) if self.target is not None else []
        held = [leaf for leaf in leaves if leaf not in absent]
        found = iter(file_inputs(self.file, held))
        if not absent:
            return list(found)
        names = _names([leaf.name for leaf in absent])
        come = "comes" if len(absent) == 1 else "come"
        console.say(
            f"note: {names}, not in {shown(self.file)}, {come} from the inputs of the target"
        )
        made = iter(seeded_inputs(leaves, *how, wanted=absent))
        return [next(made if leaf in absent else found) for leaf in leaves]

    def _absent(self, file: Path, leaves: Sequence[Leaf]) -> list[Leaf]:
        """The leaves that `file` does not have and that `specs` describe.

        Raises:
            UsageError: neither has some leaf, and all arrays of the file are arguments.
        """
        names = _names_in(file, leaves)
        if names is None:
            return []
        declared = _chosen(self.specs, leaves)
        absent = [leaf for leaf in leaves if leaf.name not in names]
        missing = [leaf.name for leaf in absent if leaf.name not in declared]
        if missing and names <= {leaf.name for leaf in leaves}:
            key = missing[0] if _BARE.fullmatch(missing[0]) else json.dumps(missing[0])
            raise UsageError(
                f"{shown(file)} lacks {_names(missing)}",
                hint=f"add {_names(missing)} to the file, or declare such inputs of the target in "
                f"olympus.toml: inputs.{key} = {{ range = [0, 1] }}",
            )
        return [leaf for leaf in absent if leaf.name in declared]


def seeded_inputs(
    leaves: Sequence[Leaf],
    seed: int = 0,
    int_range: tuple[int, int] = DEFAULT_INT_RANGE,
    specs: Mapping[str, InputSpec] | None = None,
    target: TargetSpec | None = None,
    wanted: Sequence[Leaf] | None = None,
) -> list[Array]:
    """An array for each leaf: floats from N(0, 0.1^2), integers from `int_range`, half-open.

    `specs` of `target` say it otherwise for arguments, or parts of them, by their names.  Of a
    range, integers are taken that the dtype has; a range without any is a UsageError, and so is a
    name in `specs` that no argument has.  Arrays that the memory has no room for are a MemoryError.
    Only the `wanted` leaves get arrays; None is for all.

    >>> seeded_inputs([Leaf.of("x", "int32", (3,))], seed=1)[0].shape
    (3,)
    """
    specs = specs or {}
    chosen = _chosen(specs, leaves)
    if wanted is not None:
        used = [chosen[leaf.name] for leaf in wanted if leaf.name in chosen]
        specs = {key: spec for key, spec in specs.items() if any(spec is each for each in used)}
    wanted = leaves if wanted is None else wanted
    check_memory(wanted)
    whole = _whole_arguments(specs, chosen, leaves, target)
    return [
        whole[leaf.name]
        if leaf.name in whole
        else _seeded(leaf, seed, int_range, chosen.get(leaf.name))
        for leaf in wanted
    ]


def _whole_arguments(
    specs: Mapping[str, InputSpec],
    chosen: Mapping[str, InputSpec],
    leaves: Sequence[Leaf],
    target: TargetSpec | None,
) -> dict[str, Array]:
    """The arrays of the arguments that come from a function or a .safetensors file, by name."""
    found: dict[str, Array] = {}
    for key, spec in specs.items():
        parts = [leaf for leaf in leaves if chosen.get(leaf.name) is spec]
        if spec.entry is not None and target is not None:
            arrays = entry_arrays(spec.entry, spec.values, target, key)
            source = Path(spec.entry)
            _match(source, [leaf.name for leaf in parts], arrays)
        elif spec.file is not None and is_safetensors(spec.file):
            source = spec.file
            arrays = safetensors_arrays(source, parts, key)
        else:
            continue
        for leaf in parts:
            array = arrays[leaf.name]
            _compare(array.dtype, array.shape, leaf, source)
            found[leaf.name] = _as(array, leaf, source)
    return found


def _match(source: Path, names: Sequence[str], arrays: Mapping[str, Array]) -> None:
    """Raise UsageError unless a source has exactly the arrays of these names."""
    hint = f"the program takes {_names(names) or 'no arrays'}"
    if missing := [name for name in names if name not in arrays]:
        raise UsageError(f"{shown(source)} lacks {_names(missing)}", hint=hint)
    if extra := [name for name in arrays if name not in names]:
        what = f"{shown(source)} has {_names(extra)}"
        raise UsageError(f"{what}, which the program does not take", hint=hint)


def check_memory(leaves: Sequence[Leaf]) -> None:
    """Raise MemoryError if the arrays of all leaves need more memory than is available."""
    total, available = sum(leaf.bytes for leaf in leaves), available_memory()
    if available is None or total <= available:
        return
    largest = max(leaves, key=lambda leaf: leaf.bytes)
    kind = array_type(largest.dtype, largest.shape)
    needs = f"argument {largest.name}, {kind}, needs {byte_size(largest.bytes)}"
    if len(leaves) > 1:
        needs += f", all {len(leaves)} arguments {byte_size(total)}"
    raise MemoryError(f"{needs}, and {byte_size(available)} are available")


def _filled(leaf: Leaf, draw: Callable[[int], Array]) -> Array:
    """An array of the leaf, whose elements `draw` gives piece by piece, in order.

    A generator gives the same numbers in pieces as at once.  The parts of complex numbers are drawn
    one after the other, all real ones first.
    """
    made = np.empty(leaf.shape, leaf.numpy_dtype)
    flat = made.reshape(-1)
    for part in (flat.real, flat.imag) if made.dtype.kind == "c" else (flat,):
        for start in range(0, part.size, _PIECE):
            piece = part[start : start + _PIECE]
            piece[...] = draw(piece.size).astype(part.dtype)
    return made


def _chosen(specs: Mapping[str, InputSpec], leaves: Sequence[Leaf]) -> dict[str, InputSpec]:
    """What is said of each leaf: by its own name, or by that of what it is nearest a part of."""
    found: dict[str, InputSpec] = {}
    used = set()
    for leaf in leaves:
        fitting = [key for key in specs if _is_part(leaf.name, key)]
        if fitting:
            nearest = max(fitting, key=len)
            found[leaf.name] = specs[nearest]
            used.update(fitting)
    for key in specs:
        if key not in used:
            names = [leaf.name for leaf in leaves]
            raise UsageError(
                f"the target says what the input {key!r} is, and the program takes no such "
                f"argument",
                hint=f"it takes {_names(names) or 'no arrays'}",
            )
    return found


def _is_part(name: str, key: str) -> bool:
    """Whether `key` is the name of an argument or of what it is a part of; * is any text."""
    pattern = ".*".join(map(re.escape, key.split("*")))
    return re.fullmatch(rf"{pattern}([\[.].*)?", name) is not None


def _drawn(leaf: Leaf, spec: InputSpec, rng: np.random.Generator) -> Array:
    """The array of a leaf that a target says something of."""
    dtype, shape = leaf.numpy_dtype, leaf.shape
    if spec.file is not None:
        return file_inputs(spec.file, [leaf])[0]
    if spec.range is not None and _is_integer(dtype):
        low, high = (math.ceil(x) for x in spec.range)
        if low >= high:
            raise UsageError(f"the range of the input {leaf.name} has no integer")
        return _integers(leaf, (low, high), rng)
    if dtype == np.bool_ or _is_integer(dtype):
        form = "range" if _is_integer(dtype) else "file"
        raise UsageError(
            f"the input {leaf.name} is {array_type(leaf.dtype, shape)}, and takes a {form}"
        )

    part = np.empty(0, dtype).real.dtype

    def values(count: int) -> Array:
        with np.errstate(all="ignore"):
            found = _floats(spec, rng, count).astype(part)
        if not np.isfinite(found).all():
            raise _overflow(leaf, spec)
        return found

    return _filled(leaf, values)


def _floats(spec: InputSpec, rng: np.random.Generator, count: int) -> Array:
    """Numbers of the distribution in float64, which are infinite if float64 is too narrow."""
    if spec.range is not None:
        low, high = map(float, spec.range)
        if math.isinf(high - low):
            return np.full(count, np.inf)
        return rng.uniform(low, high, count)
    mean, deviation = spec.normal or (0.0, FLOAT_SCALE)
    return np.asarray(float(mean) + float(deviation) * rng.standard_normal(count))


def _overflow(leaf: Leaf, spec: InputSpec) -> UsageError:
    """The error for a declared distribution with numbers that are not finite in the dtype."""
    name, pair = ("range", spec.range) if spec.range is not None else ("normal", spec.normal)
    low, high = pair or (0.0, FLOAT_SCALE)
    largest = ml_dtypes.finfo(np.empty(0, leaf.numpy_dtype).real.dtype).max
    return UsageError(
        f"argument {leaf.name} is {array_type(leaf.dtype, leaf.shape)}, and numbers of its "
        f"declared input {{ {name} = [{low:g}, {high:g}] }} are not finite in {leaf.dtype}",
        hint=f"the largest number of the dtype is {float(largest):.6g}: declare smaller numbers",
    )


def _integers(leaf: Leaf, int_range: tuple[int, int], rng: np.random.Generator) -> Array:
    low, high = _bounds(leaf, int_range)
    wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
    return _filled(leaf, lambda count: rng.integers(low, high, count, wide, endpoint=True))


def _seeded(
    leaf: Leaf, seed: int, int_range: tuple[int, int], spec: InputSpec | None = None
) -> Array:
    rng = np.random.default_rng([seed, zlib.crc32(leaf.name.encode())])
    dtype = leaf.numpy_dtype
    if spec is not None:
        return _drawn(leaf, spec, rng)
    if dtype == np.bool_:
        return _filled(leaf, lambda count: rng.integers(0, 2, count))
    if _is_integer(dtype):
        return _integers(leaf, int_range, rng)
    return _filled(leaf, lambda count: rng.standard_normal(count) * FLOAT_SCALE)


def _bounds(leaf: Leaf, int_range: tuple[int, int]) -> tuple[int, int]:
    """The least and the greatest integer of the range that the leaf's dtype has."""
    limits = ml_dtypes.iinfo(leaf.numpy_dtype)
    low, high = max(int_range[0], int(limits.min)), min(int_range[1] - 1, int(limits.max))
    if low > high:
        raise UsageError(
            f"no integer of {int_range[0]}:{int_range[1]} fits argument {leaf.name}: "
            f"{leaf.dtype} holds {limits.min} to {limits.max}",
            hint="give an --int-range that overlaps with these, or --inputs",
        )
    return low, high


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" or dtype.name in ("int2", "int4", "uint2", "uint4")


def parse_int_range(text: str) -> tuple[int, int]:
    """`LOW:HIGH`, half-open; UsageError for anything else.

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
    if bounds[0] < _LEAST or bounds[1] > _GREATEST + 1:
        raise UsageError(
            f"an integer range must be within {_LEAST}:{_GREATEST + 1}, the range of int64 "
            f"and uint64 together; got {text!r:.80}"
        )
    return bounds


def _names_in(path: Path, leaves: Sequence[Leaf]) -> set[str] | None:
    """The names of a file's arrays, as arguments are named; None for a .npy or a broken file."""
    with suppress(Exception):  # `file_inputs` has the message
        known = [leaf.name for leaf in leaves]
        if is_safetensors(path):
            of_tensor = {dotted(name): name for name in known}
            return {of_tensor.get(name, name) for name in tensor_names(path)}
        with open_regular(path, _MOST_BYTES) as file, zipfile.ZipFile(file) as archive:
            members = {info.orig_filename.removesuffix(".npy"): info for info in archive.infolist()}
        return set(_as_arguments(members, known))
    return None


def file_inputs(path: Path, leaves: Sequence[Leaf]) -> list[Array]:
    """The array in the file `path` for each leaf; .npz members have the names of the leaves.

    The names in a .safetensors file are those that `safetensors_arrays` describes.

    Raises:
        UsageError: the file cannot be read, lacks an argument, has one more, or has an array of
            another shape or dtype than the program was built for.
    """
    if is_safetensors(path):
        arrays = safetensors_arrays(path, leaves)
        for leaf in leaves:
            _compare(arrays[leaf.name].dtype, arrays[leaf.name].shape, leaf, path)
        return [_as(arrays[leaf.name], leaf, path) for leaf in leaves]
    try:
        with open_regular(path, _MOST_BYTES) as file:
            return _loaded(file, leaves, path)
    except OSError as error:
        raise UsageError(f"{shown(path)} cannot be read: {error.strerror or error}") from error
    except UsageError:
        raise
    except (
        Exception
    ) as error:  # NumPy, zip files and zlib have a class for each way of being broken
        raise UsageError(
            f"{shown(path)} cannot be read as a .npy or .npz file: {_reason(error)}",
            hint="numpy.save and numpy.savez write such files",
        ) from error


def _loaded(file: BinaryIO, leaves: Sequence[Leaf], path: Path) -> list[Array]:
    """The array of a .npy file, or those of a .npz file, for each leaf."""
    magic = file.read(len(np.lib.format.MAGIC_PREFIX))
    file.seek(0)
    if magic != np.lib.format.MAGIC_PREFIX:
        with zipfile.ZipFile(file) as archive:
            return _members(archive, leaves, path)
    if len(leaves) == 1:
        return [_array(file, leaves[0], path)]
    raise UsageError(
        f"{shown(path)} holds one array, but the program takes {len(leaves)}",
        hint=f"save an .npz file with {_names([leaf.name for leaf in leaves])}",
    )


def _members(archive: zipfile.ZipFile, leaves: Sequence[Leaf], path: Path) -> list[Array]:
    """The array of each leaf; what the directory says is compared before any of them is read."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.orig_filename.removesuffix(".npy")
        if name in members:
            raise ValueError(f"it has {name!r} twice")
        if info.compress_type not in _COMPRESSIONS:
            raise ValueError(f"{name!r} in it is compressed by a method that NumPy does not use")
        members[name] = info
    known = [leaf.name for leaf in leaves]
    members = _as_arguments(members, known)
    _match_members(path, list(members), known)
    arrays = []
    for leaf in leaves:
        with archive.open(members[leaf.name]) as content:
            arrays.append(_array(content, leaf, path))
            if content.read(1):  # no further: it may never end
                raise ValueError(f"{leaf.name!r} in it has more bytes than its header says")
    return arrays


def _match_members(path: Path, members: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError unless the members are the known arguments."""
    extra = [name for name in members if name not in known]
    missing = [name for name in known if name not in members]
    hint = f"the program takes {_names(known) or 'no arrays'}"
    if members and all(name.startswith(RESULT) for name in members):
        hint = (
            f"it has the results {_names(members)}; they are inputs again if they are the "
            f"program's only argument, or if their parts are all its arguments"
        )
    else:
        hint = renamed(missing, extra) or hint
    if missing:
        stray = f", and has {_names(extra)}, which the program does not take" if extra else ""
        raise UsageError(f"{shown(path)} lacks {_names(missing)}{stray}", hint=hint)
    if extra:
        what = f"{shown(path)} has {_names(extra)}"
        raise UsageError(f"{what}, which the program does not take", hint=hint)


def _as_arguments(
    members: dict[str, zipfile.ZipInfo], known: Sequence[str]
) -> dict[str, zipfile.ZipInfo]:
    """`members` under the names of arguments, where they have those of a program's results.

    The result is the only argument, or its parts are the arguments in their order: `result['w']` is
    for `params['w']`, and `result[1]` for the second one.
    """
    if not all(name.startswith(RESULT) for name in members) or set(members) == set(known):
        return members
    tops = list(dict.fromkeys(_TOP.match(name).group() for name in known))  # type: ignore[union-attr]
    prefixes = {f"{RESULT}[{i}]": top for i, top in enumerate(tops)}
    for renames in ({RESULT: tops[0]} if len(tops) == 1 else {}, prefixes):
        named = {_renamed(name, renames): member for name, member in members.items()}
        if set(named) == set(known):
            return named
    return members


def _renamed(name: str, prefixes: Mapping[str, str]) -> str:
    for old, new in prefixes.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def _array(file: IO[bytes], leaf: Leaf, path: Path) -> Array:
    """The array of a .npy file; its header is compared with the leaf before its data is read."""
    shape, by_columns, dtype = _header(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, not numbers")
    _compare(dtype, shape, leaf, path)
    data = file.read(size := math.prod(shape) * dtype.itemsize)
    if len(data) != size:
        raise ValueError(f"it has {len(data)} bytes of data, and its header says {size}")
    flat = np.frombuffer(data, dtype)
    return _as(flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape), leaf, path)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and dtype."""
    start = file.read(8)
    version = np.lib.format.read_magic(io.BytesIO(start))
    if version not in ((1, 0), (2, 0)):
        raise ValueError(
            f"it has version {version} of the .npy format, and (1, 0) and (2, 0) are read"
        )
    size = file.read(2 * version[0])
    if (length := int.from_bytes(size, "little")) > _LONGEST_HEADER:
        raise ValueError(f"its header has {length} bytes")
    content = io.BytesIO(size + file.read(length))
    formats = np.lib.format
    read = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
    shape, by_columns, dtype = read(content)
    return shape, by_columns, dtype


def _reason(error: Exception) -> str:
    """What is wrong with a file."""
    return str(error) or type(error).__name__


def npz_bytes(arrays: Sequence[tuple[str, Array]]) -> bytes:
    """The content of a .npz file with `arrays`, each with its name; `file_inputs` reads it.

    Raises:
        UsageError: two have one name, or a name is longer than such a file can have.
    """
    content = io.BytesIO()
    taken: set[str] = set()
    with zipfile.ZipFile(content, "w") as members:
        for name, array in arrays:
            if name in taken:
                raise UsageError(f"a .npz file cannot hold two arrays of the name {name!r:.120}")
            if len(name.encode()) > _LONGEST_NAME:
                raise UsageError(
                    f"a .npz file cannot hold an array with a name of {len(name)} characters: "
                    f"{name!r:.120}..."
                )
            taken.add(name)
            with members.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return content.getvalue()


def portable(array: Array) -> Array:
    """The array in a dtype that .npy files have: itself, or one that has all its values.

    NumPy writes bfloat16 and its like as bytes of no meaning; these become float32, int8 or uint8.

    >>> portable(np.ones(2, ml_dtypes.bfloat16)).dtype
    dtype('float32')
    """
    return array.astype(_portable_dtype(array.dtype), copy=False)


def _portable_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.isbuiltin == 1:
        return dtype
    wide = "float32" if not _is_integer(dtype) else "uint8" if dtype.name[0] == "u" else "int8"
    return np.dtype(wide)


def _compare(dtype: np.dtype[Any], shape: tuple[int, ...], leaf: Leaf, path: Path) -> None:
    """Raise UsageError unless an array of the type may be the leaf's, after a cast perhaps."""
    kind = _kind(dtype)
    castable = kind is not None and kind == _kind(leaf.numpy_dtype)
    same = dtype.newbyteorder("=") == leaf.numpy_dtype or _is_unknown(dtype, leaf)
    if shape != leaf.shape or not (same or castable):
        raise _another(dtype, shape, leaf, path)


def _another(dtype: np.dtype[Any], shape: tuple[int, ...], leaf: Leaf, path: Path) -> UsageError:
    return UsageError(
        f"argument {leaf.name} is {array_type(leaf.dtype, leaf.shape)}, "
        f"but {shown(path)} has {array_type(str(dtype.newbyteorder('=')), shape)} for it"
    )


def _is_unknown(dtype: np.dtype[Any], leaf: Leaf) -> bool:
    """Whether it can be the leaf's dtype: NumPy's files do not know bfloat16 and its like."""
    return (
        dtype.kind == "V" and dtype.fields is None and dtype.itemsize == leaf.numpy_dtype.itemsize
    )


def _as(array: Array, leaf: Leaf, path: Path) -> Array:
    """`array` in the leaf's dtype: the same, or cast with a note.

    A cast keeps integers as they are and finite floats finite, or UsageError is raised.  What
    `portable` made of an array of the dtype is cast without a note.
    """
    if _is_unknown(array.dtype, leaf):
        return array.view(leaf.numpy_dtype)
    if array.dtype.newbyteorder("=") == leaf.numpy_dtype:
        return array if array.dtype.isnative else array.astype(leaf.numpy_dtype)
    with np.errstate(over="ignore"):
        cast: Array = array.astype(leaf.numpy_dtype)
    if _is_portable_form(array, cast):
        return cast
    whole = _kind(leaf.numpy_dtype) == "integer"
    kept = (cast == array) if whole else np.isfinite(cast) == np.isfinite(array)
    if not np.all(kept):
        problem = _another(array.dtype, array.shape, leaf, path)
        raise UsageError(f"{problem}, and {array[~kept].flat[0]!s} does not fit {leaf.dtype}")
    console.say(f"note: {leaf.name} of {shown(path)} is {array.dtype}, and is cast to {leaf.dtype}")
    return cast


def _is_portable_form(array: Array, cast: Array) -> bool:
    """Whether `array` is `cast` as `portable` writes it, value for value."""
    if array.dtype.newbyteorder("=") != _portable_dtype(cast.dtype):
        return False
    return np.array_equal(array, cast.astype(array.dtype), equal_nan=array.dtype.kind == "f")


def _kind(dtype: np.dtype[Any]) -> str | None:
    """What a cast keeps: "integer", "float" or "complex"; None for all else."""
    if _is_integer(dtype):
        return "integer"
    if dtype.kind == "c":
        return "complex"
    return "float" if dtype.kind == "f" or dtype.name.startswith(("bfloat", "float")) else None


def _names(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
