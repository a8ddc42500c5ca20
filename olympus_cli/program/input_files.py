"""Arrays read from .npy, .npz and .safetensors files, and written to .npz files."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import ml_dtypes  # noqa: F401  (makes numpy know bfloat16 and the 8-bit floats by name)
import numpy as np

from olympus.artifact import dotted_name
from olympus.errors import UsageError
from olympus.files import open_regular
from olympus.stages import ArgInfo
from olympus_cli.program.tensor_files import (
    is_safetensors,
    safetensors_arrays,
    tensor_names,
)
from olympus_cli.terminal import console
from olympus_cli.text.nearest import renamed
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import array_type

Array = np.ndarray[Any, Any]

_TOP = re.compile(r"[^\[.]*")  # an argument's name, without the path in its tree
_RESULT = "result"  # the name of a program's result
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAX_NAMED = 12  # arguments in a hint
_MAX_BYTES = 2**40  # of a file
_MAX_MEMBERS = 100_000  # of a .npz file
_MAX_DIRECTORY = 2**24  # bytes; of the directory of a .npz file
_LONGEST_HEADER = 10_000  # bytes; the limit of NumPy
_LONGEST_NAME = 2**16 - 1 - len(".npy")  # bytes; the limit of a zip file


def array_names(path: Path, leaves: Sequence[ArgInfo]) -> set[str] | None:
    """Return the argument names of a file's arrays; None for a .npy or a damaged file."""
    with suppress(Exception):  # `file_inputs` has the message
        known = [leaf.name for leaf in leaves]
        if is_safetensors(path):
            of_tensor = {dotted_name(name): name for name in known}
            return {of_tensor.get(name, name) for name in tensor_names(path)}
        with open_regular(path, _MAX_BYTES) as file, _archive(file, path) as archive:
            members = {info.orig_filename.removesuffix(".npy"): info for info in archive.infolist()}
        return set(_as_arguments(members, known))
    return None


def file_inputs(
    path: Path, leaves: Sequence[ArgInfo], program: Sequence[ArgInfo] | None = None
) -> list[Array]:
    """Return the array in the file `path` for each leaf; .npz members have the names of the leaves.

    The names in a .safetensors file are described in `safetensors_arrays`. `program` has all
    arguments of the program, for hints, if `leaves` are only some of them.

    Raises:
        UsageError: the file cannot be read, lacks an argument, has one more, or has an array of
            another shape or dtype than the program was built for.
    """
    if is_safetensors(path):
        arrays = safetensors_arrays(path, leaves, program=program)
        for leaf in leaves:
            check_type(arrays[leaf.name].dtype, arrays[leaf.name].shape, leaf, path)
        return [cast_array(arrays[leaf.name], leaf, path) for leaf in leaves]
    try:
        with open_regular(path, _MAX_BYTES) as file:
            return _loaded(file, leaves, path, program or leaves)
    except OSError as error:
        raise UsageError(
            f"{display_path(path)} cannot be read: {error.strerror or error}"
        ) from error
    except UsageError:
        raise
    except Exception as error:  # NumPy, zipfile and zlib have a class for each defect
        raise UsageError(
            f"{display_path(path)} cannot be read as a .npy or .npz file: {_reason(error)}",
            hint="numpy.save and numpy.savez write such files",
        ) from error


def _loaded(
    file: BinaryIO, leaves: Sequence[ArgInfo], path: Path, program: Sequence[ArgInfo]
) -> list[Array]:
    """Return the array for each leaf from a .npy or .npz file."""
    magic = file.read(len(np.lib.format.MAGIC_PREFIX))
    file.seek(0)
    if magic != np.lib.format.MAGIC_PREFIX:
        with _archive(file, path) as archive:
            return _members(archive, leaves, path, program)
    if len(leaves) == 1:
        return [_array(file, leaves[0], path)]
    raise UsageError(
        f"{display_path(path)} holds one array, but the program takes {len(leaves)}",
        hint=f"save an .npz file with {listed([leaf.name for leaf in leaves])}",
    )


class _Directory:
    """A file to open as an archive; a read of more than `most` bytes raises ValueError.

    `zipfile` reads the directory of an archive in one piece, whatever its size.
    """

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file = file
        self.most: int | None = most

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes of the file."""
        if self.most is not None and size > self.most:
            raise ValueError(f"its directory has {size} bytes, and at most {self.most} are read")
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def _archive(file: BinaryIO, path: Path) -> Iterator[zipfile.ZipFile]:
    """Open the .npz file `path`, of which the number of arrays is limited."""
    directory = _Directory(file, _MAX_DIRECTORY)
    with zipfile.ZipFile(cast("IO[bytes]", directory)) as archive:
        directory.most = None
        if (number := len(archive.filelist)) > _MAX_MEMBERS:
            raise UsageError(
                f"{display_path(path)} has {number} arrays, and at most {_MAX_MEMBERS} are read",
                hint="save only the arguments of the program: numpy.savez(file, x=x, y=y)",
            )
        yield archive


def _members(
    archive: zipfile.ZipFile, leaves: Sequence[ArgInfo], path: Path, program: Sequence[ArgInfo]
) -> list[Array]:
    """Return the array of each leaf; the archive's directory is checked before reading any."""
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
    _match_members(path, list(members), known, [leaf.name for leaf in program])
    arrays = []
    for leaf in leaves:
        with archive.open(members[leaf.name]) as content:
            arrays.append(_array(content, leaf, path))
            if content.read(1):  # no further: it may never end
                raise ValueError(f"{leaf.name!r} in it has more bytes than its header gives")
    return arrays


def _match_members(
    path: Path, members: Sequence[str], known: Sequence[str], program: Sequence[str]
) -> None:
    """Raise UsageError unless the members are the known arguments; `program` has all of them."""
    extra = [name for name in members if name not in known]
    missing = [name for name in known if name not in members]
    hint = f"the program takes {listed(program, _MAX_NAMED) or 'no arrays'}"
    if members and all(name.startswith(_RESULT) for name in members):
        hint = (
            f"it has the results {listed(members)}; they are inputs again if they are the "
            f"program's only argument, or if their parts are all its arguments"
        )
    else:
        near = renamed(extra, [name for name in program if name not in members])
        hint = f"{near} {hint}" if near else hint
    if missing:
        stray = f", and has {listed(extra)}, which the program does not take" if extra else ""
        raise UsageError(f"{display_path(path)} lacks {listed(missing)}{stray}", hint=hint)
    if extra:
        what = f"{display_path(path)} has {listed(extra)}"
        raise UsageError(f"{what}, which the program does not take", hint=hint)


def _as_arguments(
    members: dict[str, zipfile.ZipInfo], known: Sequence[str]
) -> dict[str, zipfile.ZipInfo]:
    """Return `members` with names of arguments, if they have names of a program's results.

    The result is the only argument, or its parts are the arguments in their order: `result['w']` is
    for `params['w']`, and `result[1]` for the second one.
    """
    if not all(name.startswith(_RESULT) for name in members) or set(members) == set(known):
        return members
    tops = list(dict.fromkeys(_TOP.match(name).group() for name in known))  # type: ignore[union-attr]
    prefixes = {f"{_RESULT}[{i}]": top for i, top in enumerate(tops)}
    for renames in ({_RESULT: tops[0]} if len(tops) == 1 else {}, prefixes):
        named = {_renamed(name, renames): member for name, member in members.items()}
        if set(named) == set(known):
            return named
    return members


def _renamed(name: str, prefixes: Mapping[str, str]) -> str:
    for old, new in prefixes.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def _array(file: IO[bytes], leaf: ArgInfo, path: Path) -> Array:
    """Return the array of a .npy file; its header is checked before reading data."""
    shape, by_columns, dtype = _header(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, not numbers")
    check_type(dtype, shape, leaf, path)
    data = file.read(size := math.prod(shape) * dtype.itemsize)
    if len(data) != size:
        raise ValueError(f"it has {len(data)} bytes of data, and its header gives {size}")
    flat = np.frombuffer(data, dtype)
    return cast_array(
        flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape), leaf, path
    )


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, True if columns come first (Fortran order), and the dtype."""
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
    """Return the reason why a file cannot be read."""
    if isinstance(error, zipfile.BadZipFile) and str(error) == "File is not a zip file":
        return "it has another format, or its end is missing"
    return str(error) or type(error).__name__


def npz_bytes(arrays: Sequence[tuple[str, Array]]) -> bytes:
    """Return the content of a .npz file with `arrays`, each with its name; `file_inputs` reads it.

    Raises:
        UsageError: two have one name, or a name is longer than such a file can have.
    """
    content = io.BytesIO()
    names: set[str] = set()
    with zipfile.ZipFile(content, "w") as members:
        for name, array in arrays:
            if name in names:
                raise UsageError(f"a .npz file cannot hold two arrays of the name {name!r:.120}")
            if len(name.encode()) > _LONGEST_NAME:
                raise UsageError(
                    f"a .npz file cannot hold an array with a name of {len(name)} characters: "
                    f"{name!r:.120}..."
                )
            names.add(name)
            with members.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return content.getvalue()


def portable(array: Array) -> Array:
    """Return the array in a dtype that .npy files support: its own, or one that has all its values.

    NumPy writes bfloat16 and similar dtypes as raw bytes; these become float32, int8 or uint8.

    >>> portable(np.ones(2, ml_dtypes.bfloat16)).dtype
    dtype('float32')
    """
    return array.astype(_portable_dtype(array.dtype), copy=False)


def _portable_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.isbuiltin == 1:
        return dtype
    wide = "float32" if not is_integer(dtype) else "uint8" if dtype.name[0] == "u" else "int8"
    return np.dtype(wide)


def check_type(dtype: np.dtype[Any], shape: tuple[int, ...], leaf: ArgInfo, path: Path) -> None:
    """Raise UsageError unless an array of the type can be the leaf's, possibly after a cast."""
    kind = _kind(dtype)
    castable = kind is not None and kind == _kind(leaf.dtype)
    same = dtype.newbyteorder("=") == leaf.dtype or _is_unknown(dtype, leaf)
    if shape != leaf.shape or not (same or castable):
        raise _another(dtype, shape, leaf, path)


def _another(dtype: np.dtype[Any], shape: tuple[int, ...], leaf: ArgInfo, path: Path) -> UsageError:
    return UsageError(
        f"argument {leaf.name} is {array_type(leaf.dtype_name, leaf.shape)}, "
        f"but {display_path(path)} has {array_type(str(dtype.newbyteorder('=')), shape)} for it"
    )


def _is_unknown(dtype: np.dtype[Any], leaf: ArgInfo) -> bool:
    """Return True if the raw bytes can have the leaf's dtype, such as bfloat16 in NumPy's files."""
    return dtype.kind == "V" and dtype.fields is None and dtype.itemsize == leaf.dtype.itemsize


def cast_array(array: Array, leaf: ArgInfo, path: Path) -> Array:
    """Return `array` in the leaf's dtype: the same, or cast with a note.

    A cast must keep integers equal and finite floats finite; otherwise UsageError is raised. An
    array that `portable` converted from the dtype is cast without a note.
    """
    if _is_unknown(array.dtype, leaf):
        return array.view(leaf.dtype)
    if array.dtype.newbyteorder("=") == leaf.dtype:
        return array if array.dtype.isnative else array.astype(leaf.dtype)
    with np.errstate(over="ignore"):
        cast: Array = array.astype(leaf.dtype)
    if _is_portable_form(array, cast):
        return cast
    whole = _kind(leaf.dtype) == "integer"
    fits = (cast == array) if whole else np.isfinite(cast) == np.isfinite(array)
    if not np.all(fits):
        problem = _another(array.dtype, array.shape, leaf, path)
        raise UsageError(f"{problem}, and {array[~fits].flat[0]!s} does not fit {leaf.dtype_name}")
    console.message(
        f"note: {leaf.name} of {display_path(path)} is {array.dtype}, "
        f"and is cast to {leaf.dtype_name}"
    )
    return cast


def _is_portable_form(array: Array, cast: Array) -> bool:
    """Return True if `array` equals `cast` as converted by `portable`."""
    if array.dtype.newbyteorder("=") != _portable_dtype(cast.dtype):
        return False
    return np.array_equal(array, cast.astype(array.dtype), equal_nan=array.dtype.kind == "f")


def _kind(dtype: np.dtype[Any]) -> str | None:
    """Return the kind that a cast must keep: "integer", "float" or "complex"; else None."""
    if is_integer(dtype):
        return "integer"
    if dtype.kind == "c":
        return "complex"
    return "float" if dtype.kind == "f" or dtype.name.startswith(("bfloat", "float")) else None


def listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" or dtype.name in ("int2", "int4", "uint2", "uint4")
