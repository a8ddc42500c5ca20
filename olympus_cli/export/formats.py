"""The table of the formats of `olympus export`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from olympus_cli.builder.freshness.reads import Reads
from olympus_cli.export import c, programs, provenance, wheel
from olympus_cli.export.options import ExportOptions
from olympus_cli.program.stages import Program
from olympus_cli.spec.model import TargetSpec
from olympus_cli.terminal.output import check_writable


@dataclass(frozen=True)
class ProgramFormat:
    """A format that is one file, with the program as lowered for its first backend.

    `suffix` is that of the file; `options` are the fields of `ExportOptions` that it has. `content`
    returns the file's content.
    """

    suffix: str
    content: Callable[[Program, ExportOptions], str | bytes]
    options: tuple[str, ...] = ()
    has_sizes: bool = False  # True if the sizes of the program may be symbolic


@dataclass(frozen=True)
class BundleFormat:
    """A format that is made from a bundle; the program is compiled if it is not one.

    `suffix` ends the default name of the output, a file or a folder; it is None for a format that
    names its file itself, and the output is the folder. `check` raises UsageError,
    before the compilation, if the output cannot be written. `write` gets the bundle and the output,
    and returns the path that it wrote.
    """

    suffix: str | None
    write: Callable[[Path, Path, ExportOptions], Path]
    options: tuple[str, ...] = ()
    check: Callable[[Path], None] = check_writable


@dataclass(frozen=True)
class BuildFormat:
    """A format that describes the build of a target: the bundle, and what its trace read.

    `content` returns the file's content.
    """

    suffix: str
    content: Callable[[TargetSpec, Path, Reads], str]
    options: tuple[str, ...] = ()


AnyFormat: TypeAlias = ProgramFormat | BundleFormat | BuildFormat

#: The formats by name, in the order of the help.
FORMATS: dict[str, AnyFormat] = {
    "stablehlo": ProgramFormat(".mlir", programs.stablehlo, has_sizes=True),
    "bytecode": ProgramFormat(".mlirbc", programs.bytecode, ("stablehlo_version",), has_sizes=True),
    "hlo": ProgramFormat(".hlo.txt", programs.hlo),
    "hlo-proto": ProgramFormat(".hlo.pb", programs.hlo_proto),
    "jax-export": ProgramFormat(".jax_export", programs.jax_export, ("vjp_order",)),
    "c": BundleFormat("-c", c.write, check=c.check_folder),
    "wheel": BundleFormat(
        None,
        wheel.export_wheel,
        ("module", "function", "wheel_version"),
        check=wheel.check_wheel_folder,
    ),
    "provenance": BuildFormat(".provenance.json", provenance.provenance),
}
