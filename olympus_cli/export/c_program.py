"""The names, types and constants of a bundle's program in C."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import olympus
from olympus.artifact import BucketManifest, Bundle, RowArray, StoredArray, StoredExecutable
from olympus.errors import ArtifactError
from olympus.stages import ArgInfo
from olympus_cli.export.plugins import Plugins, fitting_plugins
from olympus_cli.spec.backends import backend_text
from olympus_cli.text.units import array_type

#: The type of an element in C by dtype. Complex numbers have two elements.
C_TYPES = {
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float",
    "complex128": "double",
    **{
        f"float8_{kind}": "uint8_t"
        for kind in ("e5m2", "e4m3fn", "e4m3b11fnuz", "e5m2fnuz", "e4m3fnuz", "e4m3", "e3m4")
    },
    "float8_e8m0fnu": "uint8_t",
}
#: The notes on dtypes that C does not have.
_NOTES = {
    "bool": "0 or 1",
    "complex64": "pairs: real, imaginary",
    "complex128": "pairs: real, imaginary",
}
_PLATFORMS = {"cpu": "cpu", "gpu": "cuda"}
# The words of C11 and of C++ that cannot be a name.
_KEYWORDS = {
    *("alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break"),
    *("case", "catch", "char", "class", "compl", "const", "constexpr", "const_cast", "continue"),
    *("decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum"),
    *("explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline"),
    *("int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr"),
    *("operator", "or", "or_eq", "private", "protected", "public", "register"),
    *("reinterpret_cast", "requires", "restrict", "return", "short", "signed", "sizeof"),
    *("static", "static_assert", "static_cast", "struct", "switch", "template", "this"),
    *("thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union"),
    *("unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq"),
}
_LONGEST_NAME = 60
#: The names of files and targets of each export.
_RESERVED = {"main", "olympus_runtime", "all", "clean", "help", "install", "test"}

#: The parts of each dimension of an array, and the place of the part of each device.
_Tiling = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


@dataclass(frozen=True)
class CArray:
    """An argument or a result: its name in the program, its field in C and its type.

    `macro` is the prefix of its constants. `count` is the number of elements, and `size` that of
    bytes. `parts` and `places` are its tiling over several devices, empty for a whole array. `rows`
    has the elements of one row along each axis, and is empty for an array without rows, `symbol` is
    the name of the number of rows, and `fill` the content of padded rows.
    """

    name: str
    field: str
    macro: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    donated: bool
    parts: tuple[int, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    rows: tuple[int, ...] = ()
    fill: str = "zeros"
    symbol: str = ""

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def c_type(self) -> str:
        """The type of an element in C."""
        return C_TYPES[self.dtype]

    @property
    def type(self) -> str:
        """The type of the array, such as `float32[2,3]`, or `float32[batch,3]` with rows."""
        if not self.rows:
            return array_type(self.dtype, self.shape)
        row_sizes = [self.symbol if n == 1 else f"{n}*{self.symbol}" for n in self.rows]
        sizes = [
            row if n else str(m) for row, n, m in zip(row_sizes, self.rows, self.shape, strict=True)
        ]
        return f"{self.dtype}[{','.join(sizes)}]"

    @property
    def is_mask(self) -> bool:
        """True for the mask of the rows, which a call fills."""
        return self.fill == "mask" and bool(self.rows)

    @property
    def title(self) -> str:
        """The name and the type, for comments."""
        return f"{self.name}: {self.type}"

    @property
    def element_note(self) -> str:
        """A note on the elements, after a comma; empty without one."""
        note = _NOTES.get(self.dtype)
        if note is None and self.c_type == "uint16_t" and self.dtype != "uint16":
            note = "the bits of the values"
        if note is None and self.dtype.startswith("float8"):
            note = "the bits of the values"
        return f", {note}" if note else ""

    @property
    def note(self) -> str:
        """The notes on an argument, after a comma."""
        return self.element_note + (", donated: the program gets a copy" if self.donated else "")


@dataclass(frozen=True)
class CMember:
    """A member of the bundle, with the bytes of its SHA-256."""

    name: str
    size: int
    digest: bytes


@dataclass(frozen=True)
class CExecutable:
    """An executable, with the arrays of its call and the manifest of its bundle.

    `part` is the member with the bundle if that is in another one, for `rows` rows. `stored` has
    the position and the index of each input that is a stored array of the program.
    """

    part: str | None
    rows: int
    arguments: tuple[CArray, ...]
    results: tuple[CArray, ...]
    member: CMember
    manifest: CMember
    stored: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CStored:
    """An array in the bundle: its type, the index of its file, and its offset there."""

    array: CArray
    file: int
    offset: int


@dataclass(frozen=True)
class CFile:
    """A file with arrays in the bundle, or in the bundle `part` within it."""

    part: str | None
    member: CMember


@dataclass(frozen=True)
class CProgram:
    """The program of a bundle as the templates use it.

    `name` is an identifier of C, and `title` the name in the bundle. The plugins with an API from
    `first_api` to `last_api` fit the executables, which are in the order of their rows. `symbol` is
    the name of the number of rows, empty for a program of one. With `splits`, a call with more rows
    than the last executable has is made in parts.
    """

    name: str
    title: str
    bundle_name: str
    executables: tuple[CExecutable, ...]
    symbol: str
    splits: bool
    platform: str
    system: str
    machine: str
    cpu_features: tuple[str, ...]
    compiler: str
    first_api: int
    last_api: int
    num_devices: int
    files: tuple[CFile, ...]
    stored: tuple[CStored, ...]

    @property
    def macro(self) -> str:
        """The prefix of the constants."""
        return self.name.upper()

    @property
    def arguments(self) -> tuple[CArray, ...]:
        """The arguments, of the last executable."""
        return self.executables[-1].arguments

    @property
    def results(self) -> tuple[CArray, ...]:
        """The results, of the last executable."""
        return self.executables[-1].results

    @property
    def passed(self) -> list[CArray]:
        """The arguments that a call passes: all but masks."""
        return [array for array in self.arguments if not array.is_mask]


def c_program(
    path: Path,
    parts: Sequence[tuple[str | None, Bundle]],
    rows: BucketManifest | None = None,
    *,
    stored: Sequence[StoredArray] = (),
    target: olympus.Target | None = None,
) -> CProgram:
    """Return the description of the executables of a verified bundle at `path`.

    `parts` has its bundles, with the names of their members: one without a name, or with `rows` one
    for each number of rows. `stored` are the arrays in the bundle. The executable for `target` is
    described; without a target that for the CPU, or the first for a GPU.

    Raises:
        ArtifactError: C has no type for a dtype, the executable calls functions that no plugin
            has, or none is for the target, or for the CPU or a GPU.
    """
    chosen = [(part, bundle, _executable(bundle, target)) for part, bundle in parts]
    for _, bundle, executable in chosen:
        _check(bundle, executable, rows)
    _, bundle, executable = chosen[-1]
    title = bundle.manifest.name if rows is None else rows.name
    name = identifier(title)
    name = f"{name}_" if name.lower() in _RESERVED else name
    plugins: Plugins = fitting_plugins(executable.backend, bundle.manifest.versions)
    sizes = (0,) if rows is None else rows.sizes
    arrays = _StoredArrays(stored)
    executables = tuple(
        _c_executable(part, size, bundle, executable, name.upper(), rows, arrays)
        for size, (part, bundle, executable) in zip(sizes, chosen, strict=True)
    )
    return CProgram(
        name=name,
        title=title,
        bundle_name=path.name,
        executables=executables,
        symbol="" if rows is None else rows.symbol,
        splits=rows is not None and rows.oversize == "split",
        platform=_PLATFORMS[executable.backend],
        system=executable.host.system,
        machine=executable.host.machine,
        cpu_features=executable.host.cpu_features or (),
        compiler=plugins.compiler,
        first_api=plugins.first_api,
        last_api=plugins.last_api,
        num_devices=bundle.num_devices,
        files=tuple(arrays.files),
        stored=tuple(arrays.arrays),
    )


class _StoredArrays:
    """The stored arrays that the executables of a program use, each once, and their files."""

    def __init__(self, stored: Sequence[StoredArray]) -> None:
        self._places = {x.name: x for x in stored}
        self._indices: dict[str, int] = {}
        self.arrays: list[CStored] = []
        self.files: list[CFile] = []

    def has(self, name: str) -> bool:
        """Return True if an array has this name."""
        return name in self._places

    def index(self, array: CArray) -> int:
        """Return the index of an array, which is added at its first use."""
        if array.name not in self._indices:
            place = self._places[array.name]
            digest = bytes.fromhex(place.record.sha256)
            file = CFile(place.part, CMember(place.file, place.record.size, digest))
            if file not in self.files:
                self.files.append(file)
            self._indices[array.name] = len(self.arrays)
            self.arrays.append(CStored(array, self.files.index(file), place.offset))
        return self._indices[array.name]


def _executable(bundle: Bundle, target: olympus.Target | None) -> StoredExecutable:
    """Return the executable to export."""
    wanted = _PLATFORMS if target is None else (target.backend,)
    for backend in wanted:
        for executable in bundle.executables:
            is_on_device = target is None or executable.device == target.device
            if executable.backend == backend in _PLATFORMS and is_on_device:
                return executable
    need = "the CPU or a GPU" if target is None else backend_text(target)
    found = ", ".join(backend_text(executable.target) for executable in bundle.executables)
    raise ArtifactError(
        f"--format c needs an executable for {need}, and the executables of {bundle.manifest.name} "
        f"are for {found or 'nothing'}",
        hint="build it for that backend; programs in C run on the CPU and on GPUs",
    )


def _c_executable(
    part: str | None,
    size: int,
    bundle: Bundle,
    executable: StoredExecutable,
    prefix: str,
    rows: BucketManifest | None,
    stored: _StoredArrays,
) -> CExecutable:
    member, content = bundle.manifest.members[executable.member], bundle.manifest_bytes
    arguments, results = _arrays(bundle, executable, prefix, rows)
    constants = [
        _array(x, f"constant_{i}", "", None)
        for i, x in enumerate(bundle.manifest.constants_for(executable.backend))
    ]
    inputs = [*constants, *arguments]
    is_stored = [i < len(constants) or stored.has(x.name) for i, x in enumerate(inputs)]
    passed = [x for x, bound in zip(inputs, is_stored, strict=True) if not bound]
    arguments = tuple(passed)
    return CExecutable(
        part,
        size,
        arguments,
        results,
        CMember(executable.member, member.size, bytes.fromhex(member.sha256)),
        CMember("manifest.json", len(content), hashlib.sha256(content).digest()),
        tuple((i, stored.index(x)) for i, x in enumerate(inputs) if is_stored[i]),
    )


def identifier(name: str) -> str:
    """Return the identifier of C for a name of Python.

    >>> identifier("params['w']")
    'params_w'
    >>> identifier("double")
    'double_'
    """
    word = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_")[:_LONGEST_NAME].strip("_") or "value"
    word = f"n{word}" if word[0].isdigit() else word
    return f"{word}_" if word in _KEYWORDS else word


def _unique(names: Sequence[str]) -> Iterator[str]:
    """Yield the identifiers of names, with a number if a name has an earlier one's in any case."""
    used: set[str] = set()
    for name in names:
        word = candidate = identifier(name)
        number = 2
        while candidate.lower() in used:
            candidate = f"{word}_{number}"
            number += 1
        used.add(candidate.lower())
        yield candidate


def _arrays(
    bundle: Bundle, executable: StoredExecutable, prefix: str, rows: BucketManifest | None
) -> tuple[tuple[CArray, ...], tuple[CArray, ...]]:
    signature = bundle.manifest.signature
    arrays = [*signature.arguments, *signature.results]
    fields = _unique([array.name for array in arrays])
    described = [
        _array(array, field, f"{prefix}_{field.upper()}", tiling)
        for array, field, tiling in zip(arrays, fields, bundle.tilings(executable), strict=True)
    ]
    if rows is not None:
        of_rows = zip(described, (*rows.arguments, *rows.results), strict=True)
        described = [_with_rows(array, info, rows.symbol) for array, info in of_rows]
    count = len(signature.arguments)
    return tuple(described[:count]), tuple(described[count:])


def _array(array: ArgInfo, field: str, macro: str, tiling: _Tiling | None) -> CArray:
    parts, places = tiling or ((), ())
    if all(count == 1 for count in parts):  # each device has the whole array
        parts, places = (), ()
    return CArray(
        name=array.name,
        field=field,
        macro=macro,
        dtype=array.dtype_name,
        shape=array.shape,
        size=array.bytes,
        donated=array.donated,
        parts=parts,
        places=places,
    )


def _with_rows(array: CArray, info: RowArray, symbol: str) -> CArray:
    if not info.axes:
        return array
    per_axis = tuple(info.axes.get(axis, 0) for axis in range(len(array.shape)))
    return replace(array, rows=per_axis, fill=info.fill, symbol=symbol)


# Custom calls that XLA itself contains, besides those with the prefixes.
_OF_XLA = {"TopK", "SliceToDynamic", "PadToStatic", "Sharding", "SPMDFullToShardShape"}
_OF_XLA |= {"SPMDShardToFullShape"}
_PREFIXES_OF_XLA = ("__", "mhlo.", "stablehlo.", "chlo.", "xla.")


def _check(bundle: Bundle, executable: StoredExecutable, rows: BucketManifest | None) -> None:
    """Raise ArtifactError for a program that the runtime in C cannot run."""
    what = f"the program {bundle.manifest.name}"
    for info in () if rows is None else rows.arguments:
        dtypes = [x.dtype_name for x in bundle.manifest.signature.arguments if x.name == info.name]
        if info.fill == "mask" and dtypes[0].startswith(("complex", "float8")):
            raise ArtifactError(f"{info.name} in {what} is a mask, and has the dtype {dtypes[0]}")
    for array in (*bundle.manifest.signature.arguments, *bundle.manifest.signature.results):
        if array.dtype_name not in C_TYPES:
            raise ArtifactError(
                f"C has no type for {array.dtype_name}, the dtype of {array.name} in {what}",
                hint="convert it to int8 or uint8 in the program",
            )
    missing = [
        name
        for name in bundle.custom_calls(executable)
        if name not in _OF_XLA and not name.startswith(_PREFIXES_OF_XLA)
    ]
    if missing:
        raise ArtifactError(
            f"{what} calls {', '.join(missing)}, which only Python processes have",
            hint=_remedy(missing),
        )


def _remedy(missing: Sequence[str]) -> str:
    if any(name.startswith("lapack_") for name in missing):
        return 'set linalg = "portable" for the target, or pass --linalg portable'
    return "leave callbacks such as jax.debug.print and jax.pure_callback out of the program"
