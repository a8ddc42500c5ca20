"""Arrays to run a program on: made from a seed, or read from .npy and .npz files.

The leaves of a program's arguments enter; one NumPy array for each leaves.  The same seed gives an
argument the same values whatever else the program takes and whichever build of it is run.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import ml_dtypes
import numpy as np

from olympus.errors import UsageError
from olympus_cli.leaves import Leaf
from olympus_cli.places import shown
from olympus_cli.units import array_type

__all__ = [
    "DEFAULT_INT_RANGE",
    "InputOptions",
    "file_inputs",
    "npz_bytes",
    "parse_int_range",
    "seeded_inputs",
]

Array = np.ndarray[Any, Any]

DEFAULT_INT_RANGE = (0, 8)  # small and nonnegative, so that integers can be tokens or indices
_LEAST, _GREATEST = -(2**63), 2**64 - 1  # of all integers that a dtype has
FLOAT_SCALE = 0.1  # keeps the activations of networks some hundred units wide near one


@dataclass(frozen=True)
class InputOptions:
    """Where a program's inputs come from: `file` if it is given, else `seed`."""

    file: Path | None = None
    seed: int = 0
    int_range: tuple[int, int] = DEFAULT_INT_RANGE

    def arrays(self, leaves: Sequence[Leaf]) -> list[Array]:
        """One array for each leaf; raises as `file_inputs` does."""
        if self.file is not None:
            return file_inputs(self.file, leaves)
        return seeded_inputs(leaves, self.seed, self.int_range)


def seeded_inputs(
    leaves: Sequence[Leaf], seed: int = 0, int_range: tuple[int, int] = DEFAULT_INT_RANGE
) -> list[Array]:
    """An array for each leaf: floats from N(0, 0.1^2), integers from `int_range`, half-open.

    Of the range, integers are taken that the dtype has; a range without any is a UsageError.

    >>> seeded_inputs([Leaf("x", np.dtype("int32"), (3,))], seed=1)[0].shape
    (3,)
    """
    return [_seeded(leaf, seed, int_range) for leaf in leaves]


def _seeded(leaf: Leaf, seed: int, int_range: tuple[int, int]) -> Array:
    rng = np.random.default_rng([seed, zlib.crc32(leaf.name.encode())])
    dtype = leaf.dtype
    if dtype == np.bool_:
        return rng.integers(0, 2, leaf.shape).astype(bool)
    if _is_integer(dtype):
        low, high = _bounds(leaf, int_range)
        wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
        return rng.integers(low, high, leaf.shape, wide, endpoint=True).astype(dtype)
    values = rng.standard_normal(leaf.shape) * FLOAT_SCALE
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(leaf.shape) * FLOAT_SCALE
    return np.asarray(values).astype(dtype)


def _bounds(leaf: Leaf, int_range: tuple[int, int]) -> tuple[int, int]:
    """The least and the greatest integer of the range that the leaf's dtype has."""
    limits = ml_dtypes.iinfo(leaf.dtype)
    low, high = max(int_range[0], int(limits.min)), min(int_range[1] - 1, int(limits.max))
    if low > high:
        raise UsageError(
            f"no integer of {int_range[0]}:{int_range[1]} fits argument {leaf.name}, for "
            f"{leaf.dtype.name} has those from {limits.min} to {limits.max}",
            hint="give an --int-range that overlaps with them, or --inputs",
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
    try:
        bounds = int(low), int(high)
    except ValueError:
        bounds = (0, 0)
    if bounds[0] >= bounds[1]:
        raise UsageError(f"an integer range is LOW:HIGH with LOW < HIGH, such as 0:8; got {text!r}")
    if bounds[0] < _LEAST or bounds[1] > _GREATEST + 1:
        raise UsageError(
            f"an integer range is within {_LEAST}:{_GREATEST + 1}, for no dtype has integers "
            f"beyond; got {text!r}"
        )
    return bounds


def file_inputs(path: Path, leaves: Sequence[Leaf]) -> list[Array]:
    """The array in the file `path` for each leaf; .npz members have the names of the leaves.

    Raises:
        UsageError: the file cannot be read, lacks an argument, has one more, or has an array of
            another shape or dtype than the program was built for.
    """
    arrays = _read(path, leaves)
    known = [leaf.name for leaf in leaves]
    hint = f"the program takes {_names(known)}"
    if missing := [name for name in known if name not in arrays]:
        raise UsageError(f"{shown(path)} lacks {_names(missing)}", hint=hint)
    if extra := [name for name in arrays if name not in known]:
        what = f"{shown(path)} has {_names(extra)}"
        raise UsageError(f"{what}, which the program does not take", hint=hint)
    return [_checked(arrays[leaf.name], leaf, path) for leaf in leaves]


def _read(path: Path, leaves: Sequence[Leaf]) -> Mapping[str, Array]:
    try:
        with path.open("rb") as file:
            arrays = _loaded(file)
    except OSError as error:
        raise UsageError(f"{shown(path)} cannot be read: {error.strerror or error}") from error
    except (
        Exception
    ) as error:  # NumPy, zip files and zlib have a class for each way of being broken
        raise UsageError(
            f"{shown(path)} cannot be read as a .npy or .npz file: {_reason(error)}",
            hint="numpy.save and numpy.savez write such files",
        ) from error
    if isinstance(arrays, dict):
        return arrays
    if len(leaves) == 1:
        return {leaves[0].name: arrays}
    raise UsageError(
        f"{shown(path)} holds one array, but the program takes {len(leaves)}",
        hint=f"save an .npz file with {_names([leaf.name for leaf in leaves])}",
    )


def _loaded(file: BinaryIO) -> Array | dict[str, Array]:
    """The array of a .npy file, or those of a .npz file by their names."""
    magic = file.read(len(np.lib.format.MAGIC_PREFIX))
    file.seek(0)
    if magic == np.lib.format.MAGIC_PREFIX:
        return _array(file)
    arrays = {}
    with zipfile.ZipFile(file) as members:
        for member in members.namelist():
            with members.open(member) as content:
                arrays[member.removesuffix(".npy")] = _array(content)
    return arrays


def _array(file: IO[bytes]) -> Array:
    array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _reason(error: Exception) -> str:
    """What is wrong with a file, without NumPy's advice to trust it."""
    if "allow_pickle" in str(error):
        return "it holds Python objects, not numbers"
    return str(error) or type(error).__name__


def npz_bytes(arrays: Mapping[str, Array]) -> bytes:
    """The content of a .npz file with `arrays` by their names; `file_inputs` reads it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as members:
        for name, array in arrays.items():
            with members.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return content.getvalue()


def _checked(array: Array, leaf: Leaf, path: Path) -> Array:
    if array.dtype.kind == "V" and array.dtype.fields is None:
        if array.dtype.itemsize == leaf.dtype.itemsize:
            array = array.view(leaf.dtype)  # NumPy's files do not know bfloat16 and its like
    elif not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.shape != leaf.shape or array.dtype != leaf.dtype:
        raise UsageError(
            f"argument {leaf.name} is {array_type(leaf.dtype.name, leaf.shape)}, "
            f"but {shown(path)} has {array_type(str(array.dtype), array.shape)} for it"
        )
    return array


def _names(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
