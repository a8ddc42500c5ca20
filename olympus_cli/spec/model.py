"""The types of specifications: shapes, targets and projects.

No text is parsed here: `shapes.py`, `project.py` and `resolve.py` build these objects, and all
commands, builds and reports use them.  All are immutable.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import olympus
from olympus.errors import UsageError
from olympus_cli.spec.backends import backend_labels
from olympus_cli.spec.bench import BenchSpec
from olympus_cli.spec.buckets import BucketSpec
from olympus_cli.spec.cache import CacheSpec
from olympus_cli.spec.inputs import InputSpec, ToleranceSpec
from olympus_cli.spec.limits import Budget
from olympus_cli.spec.mesh import MeshSpec, OutSharding, ShardingSpec
from olympus_cli.spec.target_names import matching, mismatch
from olympus_cli.spec.target_table import TargetTable

if TYPE_CHECKING:
    from olympus.stages import Linalg, Optimize, Repeats


@dataclass(frozen=True)
class ShapeSpec:
    """One array: `dtype` is the long name ("float32"), `shape` its sizes, outermost first.

    A symbolic size is the text of an expression, such as "2*b + 1".  `sharding` is its sharding
    over the mesh of the target; None for the compiler's choice.
    """

    dtype: str
    shape: tuple[int | str, ...]
    sharding: ShardingSpec | None = None

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes; raises UsageError if one is symbolic, for programs that need fixed sizes."""
        fixed = tuple([n for n in self.shape if isinstance(n, int)])
        if len(fixed) < len(self.shape):
            symbols = ", ".join(str(n) for n in self.shape if not isinstance(n, int))
            raise UsageError(
                f"the shape {self} has the symbolic size {symbols}, and a size is fixed here",
                hint="write a number: symbolic sizes are for functions of OLYMPUS, on one device",
            )
        return fixed


#: The end of the name of a bundle with weights.
WEIGHTS_SUFFIX = "+weights"
#: The keys of an argument whose shapes a function returns.
FROM_KEYS = ("from", "with", "sharding", "data")


@dataclass(frozen=True)
class FromEntry:
    """`{ from = "module:f" }`: the shapes of the result of `f`, found without running it.

    `values` are the values of `with`, by argument name of `f`.  `sharding` is the sharding of each
    array of the result.
    """

    entry: str
    values: Mapping[str, object] = field(default_factory=dict)
    sharding: ShardingSpec | None = None


@dataclass(frozen=True)
class SizeSpec:
    """A number for a free size of a model's inputs, in place of the shapes that have the size."""

    size: int


@dataclass(frozen=True)
class OfClass:
    """`{ type = "module:Class", ... }`: a container with its fields by name."""

    entry: str
    parts: Mapping[str, ArgSpec]


ArgSpec: TypeAlias = (
    "ShapeSpec | FromEntry | SizeSpec | OfClass | dict[str, ArgSpec] | list[ArgSpec]"
)


@dataclass(frozen=True)
class Checkout:
    """The files of a revision: `tree` is their folder, and `top` the folder of the working tree.

    Both are absolute, without symbolic links.
    """

    revision: str
    tree: Path
    top: Path

    def counterpart(self, folder: Path) -> Path:
        """Return the folder of the checkout for a folder of the working tree.

        Raises:
            UsageError: the revision does not have it.
        """
        place = folder.resolve().relative_to(self.top)
        path = self.tree / place
        if not path.is_dir():
            raise UsageError(f"the revision has no folder {place}")
        return path

    def moved(self, path: str | os.PathLike[str]) -> Path | None:
        """Return the path in the checkout for a path in the working tree; None for other paths.

        The file does not have to exist in the checkout.
        """
        real = Path(os.path.realpath(path))
        if real.is_relative_to(self.tree) or not real.is_relative_to(self.top):
            return None
        return self.tree / real.relative_to(self.top)


@dataclass(frozen=True)
class OutputFolder:
    """The folder of a target's outputs, and the target's backends in olympus.toml."""

    path: Path
    backends: tuple[olympus.Target, ...]


@dataclass(frozen=True)
class TargetSpec:
    """One program to build: an entry, the shapes of its arguments, its backends and options."""

    name: str
    entry: str
    args: tuple[ArgSpec, ...]
    kwargs: Mapping[str, ArgSpec]
    static: Mapping[str, object]
    donate: tuple[str, ...]
    backends: tuple[olympus.Target, ...]
    root: Path
    matrix: Mapping[str, object] = field(default_factory=dict)  # the values of its combination
    #: the keys of the matrix that are in braces, but neither in a shape nor in a static
    setting_keys: tuple[str, ...] = ()
    python_path: tuple[Path, ...] = ()  # folders of modules, in addition to `root`
    compiler_options: Mapping[str, str | int | bool | float] = field(default_factory=dict)
    optimize: Optimize = "default"
    repeats: Repeats = "auto"
    linalg: Linalg = "auto"
    #: the library of its function: "auto" is JAX if OLYMPUS cannot trace it because it calls JAX
    frontend: str = "auto"
    #: the constraints on the variables in the symbolic sizes of its arguments
    constraints: tuple[str, ...] = ()
    at: Mapping[str, int] = field(default_factory=dict)  # the sizes that it is compiled for
    sizes: Mapping[str, int] = field(default_factory=dict)  # the variables with their values
    general: TargetSpec | None = None  # the target with symbolic sizes, if these have values
    x64: bool | None = None  # whether 64-bit dtypes are enabled; None for the process's switch
    env: Mapping[str, str] = field(default_factory=dict)  # environment variables of its process
    as_is: bool = False  # True to compile the program of a file unchanged
    #: public keys, one of which must have signed the bundle of its entry; if empty, the settings'
    trust: tuple[Path, ...] = ()
    buckets: BucketSpec | None = None  # the bundle for several sizes that it is a part of
    budget: Budget = field(default_factory=Budget)
    bench: BenchSpec = field(default_factory=BenchSpec)
    golden: bool = False  # True if its program must equal the saved one
    trips: Mapping[str, int] = field(default_factory=dict)  # of loops, by source line
    inputs: Mapping[str, InputSpec] = field(default_factory=dict)
    data: Mapping[str, Path] = field(default_factory=dict)  # the weights of arguments, by name
    tolerance: ToleranceSpec = field(default_factory=ToleranceSpec)
    weights: str | None = None  # those of an ONNX model: one of `WEIGHTS`
    #: a .safetensors file with values of arguments, on which the program does not depend
    weights_file: Path | None = field(default=None, compare=False)
    mesh: MeshSpec = field(default_factory=dict)
    out_sharding: OutSharding = None
    checkout: Checkout | None = None  # the revision of its program
    #: the table of the target in olympus.toml, for messages; None for an entry
    table: TargetTable | None = field(default=None, compare=False)
    toml_args: object = None  # `args` of olympus.toml, with matrix keys in braces
    #: the output folder of `olympus build`; None for an entry, and for a target with options that
    #: change its program
    outputs: OutputFolder | None = None
    #: the stores of compilation results; None: those of the environment
    cache: CacheSpec | None = field(default=None, compare=False)

    @property
    def all_labels(self) -> dict[str, olympus.Target]:
        """The backends of its outputs by label, requested or not."""
        return backend_labels(self.outputs.backends if self.outputs else self.backends)

    @property
    def labels(self) -> dict[str, olympus.Target]:
        """The requested backends, by the labels of their outputs."""
        known = self.all_labels.items()
        return {label: backend for label, backend in known if backend in self.backends}

    @property
    def num_devices(self) -> int:
        """The number of devices of its mesh; 1 without a mesh."""
        return math.prod(self.mesh.values())


@dataclass(frozen=True)
class Project:
    """One project: its targets by name, with matrices expanded, and its folders."""

    root: Path
    targets: Mapping[str, TargetSpec]
    build_dir: Path
    default_targets: tuple[str, ...]
    #: the user's own devices
    devices: Mapping[str, olympus.DeviceModel | olympus.TpuModel] = field(default_factory=dict)
    history: Path | None = None  # the file to which commands add figures
    file: Path = Path("olympus.toml")  # its olympus.toml or pyproject.toml
    files: tuple[Path, ...] = ()  # all files that were read: `file` and the extended ones
    cache: CacheSpec = field(default_factory=CacheSpec)  # its store of compilation results

    @property
    def bundles(self) -> dict[str, list[str]]:
        """The names of bundles joined from those of targets, each with the names of the targets."""
        names: dict[str, list[str]] = {}
        for name, target in self.targets.items():
            joined = name if target.buckets is None else target.buckets.name
            if target.buckets is not None:
                names.setdefault(joined, []).append(name)
            if target.data:
                names.setdefault(joined + WEIGHTS_SUFFIX, []).append(name)
        return names

    def has(self, name: str) -> bool:
        """Return True if `name` selects a target: see `target_names`."""
        return bool(matching(name, [*self.targets]))

    def select(self, names: Iterable[str] = ()) -> tuple[TargetSpec, ...]:
        """Return the targets for `names`; without names, the default targets, or all.

        The name of a target with a matrix selects all its combinations. A name may be a part of
        a matrix or a pattern: see `target_names`.

        Raises:
            UsageError: a name selects no target (the hint has the nearest), or there is none.

        Example: `project.select(["mlp"])`.
        """
        chosen: dict[str, TargetSpec] = {}
        for name in tuple(names) or self.default_targets or tuple(self.targets):
            chosen.update((target.name, target) for target in self._named(name))
        if not chosen:
            raise UsageError(f"{self.file} has no target")
        return tuple(chosen.values())

    def _named(self, name: str) -> list[TargetSpec]:
        known = [*self.targets]
        if name.endswith(WEIGHTS_SUFFIX) and name in self.bundles:
            return [self.targets[key] for key in self.bundles[name]]
        if names := matching(name, known):
            return [self.targets[key] for key in names]
        joined = [bundle for bundle in self.bundles if bundle.endswith(WEIGHTS_SUFFIX)]
        message, hint = mismatch(name, [*known, *joined])
        raise UsageError(f"{message} in {self.file}", hint=hint)
