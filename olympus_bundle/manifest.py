"""The manifest of a bundle: the content of `manifest.json`, typed. `reading` reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from olympus_bundle.host import Host
from olympus_bundle.json_value import JsonValue
from olympus_bundle.tree import TreeNode

MANIFEST = "manifest.json"
SCHEMA_VERSION = 1  # raised with every change that an old reader would misread
#: The schema version of a bundle of one program whose large constants are stored apart.
CONSTANTS_VERSION = 5
#: The member with these constants, which the programs in a bundle share.
CONSTANTS = "constants.safetensors"

#: The fields of a result in JSON; an argument also has `donated`.
ARRAY_FIELDS = ("name", "dtype", "shape", "weak_type")


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array in the arguments or results of a program: its name, type, and donation.

    `name` is the user's name and path, such as `params['w']`. `donated` is True if the buffer is
    donated. Two are equal if their shapes, dtypes and donations are.

    >>> load("f.olympus").signature.arguments[0].bytes
    12
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    donated: bool = False
    name: str = field(default="", repr=False, compare=False)
    weak_type: bool = field(default=False, repr=False, compare=False)

    @property
    def dtype_name(self) -> str:
        """The name of the dtype, such as "float32"."""
        return self.dtype.name

    @property
    def bytes(self) -> int:
        """The size of the array in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def type_text(dtype: np.dtype[Any], shape: tuple[int, ...]) -> str:
    """Return a type as messages have it.

    >>> type_text(np.dtype("float32"), (8, 128))
    'float32[8,128]'
    """
    return f"{dtype.name}[{','.join(map(str, shape))}]"


@dataclass(frozen=True)
class Signature:
    """The calling convention of the program: flat arguments and results, and their trees.

    `argument_tree` is that of the pair (args, kwargs), without the static arguments, whose values
    `static` has by name.
    """

    arguments: tuple[ArrayInfo, ...]
    argument_tree: TreeNode
    results: tuple[ArrayInfo, ...]
    result_tree: TreeNode
    static: Mapping[str, Any]


@dataclass(frozen=True)
class StoredExecutable:
    """One compiled form of the program: its member, its target, and the machine that built it.

    `topology` is the number of hosts and devices, or the torus of chips, as text; None for a target
    without it.
    """

    member: str
    backend: str
    device: str | None
    host: Host
    topology: str | None = None


@dataclass(frozen=True)
class Member:
    """A file in the bundle: its SHA-256 in hexadecimal, and its size in bytes."""

    sha256: str
    size: int


def parse_member(value: JsonValue) -> Member:
    """Return the record of a member in a manifest; raise ArtifactError for another form."""
    return Member(**value.record({"sha256": _digest, "size": JsonValue.size}))


#: The readers of the fields of a result, by name.
ARRAY_READERS: dict[str, Callable[[JsonValue], Any]] = {
    "name": JsonValue.name,
    "dtype": JsonValue.dtype,
    "shape": lambda value: value.each(JsonValue.size),
    "weak_type": JsonValue.flag,
}


def _digest(value: JsonValue) -> str:
    if not re.fullmatch("[0-9a-f]{64}", value.text()):
        value.refuse("64 hexadecimal digits")
    return value.text()


@dataclass(frozen=True)
class Manifest:
    """The content of a bundle's manifest.

    `programs` names, for each backend lowered for, the member with the StableHLO. `members` are all
    files of the bundle except the manifest. `placement` is that of a program of several devices.
    `callbacks` are the Python functions that the program calls, each a `HostFunction`. `constants`
    has, for each backend lowered for, the arrays that the program takes before the arguments of a
    call, with their names in the member `CONSTANTS` of this bundle or of the one that contains it.
    """

    name: str
    entry: str
    function: str
    signature: Signature
    versions: Mapping[str, str]
    compiler_options: Mapping[str, str | int | float | bool]
    programs: Mapping[str, str]
    executables: tuple[StoredExecutable, ...]
    members: Mapping[str, Member]
    placement: Any = None
    callbacks: tuple[Any, ...] = ()
    constants: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def constants_for(self, backend: str) -> tuple[Any, ...]:
        """Return the constants of the program for a backend: its own, or that of the first one."""
        name = backend if backend in self.programs else next(iter(self.programs))
        return self.constants.get(name, ())
