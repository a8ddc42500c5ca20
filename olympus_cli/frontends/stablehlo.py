"""Targets with a file of StableHLO or HLO as entry."""

from __future__ import annotations

import dataclasses

import numpy as np

import olympus
from olympus.errors import ArgumentError, EntryError, UsageError
from olympus.interop import stablehlo
from olympus_cli.frontends.program_files import ProgramOfFile, check_file, with_donated
from olympus_cli.spec.entries import ProgramFile
from olympus_cli.spec.model import ArgSpec, ShapeSpec, TargetSpec
from olympus_cli.spec.target_table import at_key, with_line
from olympus_cli.text.paths import display_path


@dataclasses.dataclass(frozen=True)
class FileSource(ProgramOfFile):
    """The program of a file; its arguments have the types of the file."""

    file: ProgramFile

    def trace(self) -> olympus.stages.Traced:
        """Return the program, with the target's donations marked.

        Raises:
            ArtifactError: the file has no program that can be read.
            UsageError: a shape or a donation does not fit the program.
        """
        return with_donated(self._read(), self.spec)

    def _read(self) -> olympus.stages.Traced:
        path = self.spec.root / self.file.path
        with at_key(self.spec, "entry"):
            try:
                return stablehlo.read(
                    path,
                    name=display_path(path),
                    function=self.file.part or "main",
                    shapes=self._shapes(),
                    as_is=self.spec.as_is,
                )
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise EntryError(f"{display_path(path)} cannot be read: {reason}") from None
            except ArgumentError as error:
                wrong = UsageError(str(error), hint=error.hint)
                raise with_line(wrong, self.spec, "args") from None

    def _shapes(self) -> dict[str, olympus.ShapeDtypeStruct] | list[olympus.ShapeDtypeStruct]:
        if self.spec.args:
            return [self._shape(f"argument {i}", x) for i, x in enumerate(self.spec.args)]
        return {name: self._shape(repr(name), x) for name, x in self.spec.kwargs.items()}

    def _shape(self, what: str, arg: ArgSpec) -> olympus.ShapeDtypeStruct:
        if not isinstance(arg, ShapeSpec) or arg.sharding is not None:
            raise with_line(
                UsageError(
                    f"{what} of {self.name} needs a shape, because the arguments of a file are "
                    "flat arrays on one device",
                    hint='write a shape such as "f32[8,128]" for each array',
                ),
                self.spec,
                "args",
            )
        with olympus.enable_x64(True):  # a file has its own 64-bit types
            return olympus.ShapeDtypeStruct(arg.sizes, np.dtype(arg.dtype))


def load_file(spec: TargetSpec, file: ProgramFile) -> FileSource:
    """Return the program of a target whose entry is a file; the file is read when it is traced.

    Raises:
        EntryError: the file does not exist.
        UsageError: the target has statics or a mesh, which only functions have.
    """
    if spec.static:
        error = UsageError(f"static is for a Python function, and {spec.entry} is a file")
        raise with_line(error, spec, "static")
    check_file(spec, file)
    return FileSource(spec, file)
