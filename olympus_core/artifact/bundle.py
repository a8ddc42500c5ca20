"""A bundle becomes a compiled program again.

A file enters, and is verified whole before any runtime is touched; a `Bundle` leaves, and from it
a program that can be called, loaded as it was compiled or compiled anew for this machine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from olympus_core import dtypes, stages, xla
from olympus_core.artifact import container, host
from olympus_core.artifact.manifest import MANIFEST, Manifest, Member, StoredExecutable
from olympus_core.artifact.reading import parse_manifest
from olympus_core.artifact.saving import OLYMPUSPR
from olympus_core.avals import shaped
from olympus_core.errors import ArtifactError

__all__ = ["Bundle", "load"]


@dataclass(frozen=True)
class Bundle:
    """A verified bundle: what it says of itself, and its members."""

    path: Path
    manifest: Manifest
    members: Mapping[str, bytes] = field(repr=False)

    @property
    def executables(self) -> tuple[StoredExecutable, ...]:
        """The executables that it holds; `members[executable.member]` are the bytes of one."""
        return self.manifest.executables

    @property
    def olympuspr(self) -> str:
        """The program as text of the IR."""
        return self.members[OLYMPUSPR].decode()

    def stablehlo(self, backend: str = "cpu") -> bytes:
        """The program as lowered for a backend, in portable StableHLO bytecode.

        A backend that it was not lowered for gets the program of another one: they differ only
        where an operation has a form of its own on some backend.
        """
        programs = self.manifest.programs
        return self.members[programs.get(backend) or next(iter(programs.values()))]

    def compiled(
        self, target: xla.Target | None = None, *, recompile: bool = True
    ) -> stages.Compiled:
        """The program for a target (the CPU unless given), to be called like the function.

        The stored executable is loaded when it fits this machine: built by the same jaxlib, for
        the same system, and on a processor that can do nothing that this one cannot.  Otherwise
        the program is compiled from StableHLO.

        Raises:
          ArtifactError: when no executable fits and `recompile` is False, or the program is
            not the manifest's.
          BackendError: when the target's device, or what compiles for it, is not here.
          CompileError: when the program cannot be compiled for the target.

        Example:
          >>> load("f.olympus").compiled()(1.0)
          Array(2., dtype=float32)
        """
        target = xla.target(*((target.backend, target.device) if target else ("cpu",)))
        try:
            executable: xla.Executable | xla.CompileOnlyExecutable = self._load(target)
        except ArtifactError:
            if not recompile:
                raise
            options = self.manifest.compiler_options
            executable = xla.compile(self.stablehlo(target.backend), target, options)
        self._check_results(executable)
        return stages.Compiled(self._signature(), executable, target)

    def _check_results(self, executable: xla.Executable | xla.CompileOnlyExecutable) -> None:
        said = len(self.manifest.signature.results)
        if isinstance(executable, xla.Executable) and len(executable.handlers) != said:
            raise ArtifactError(
                f"{self.path} cannot be used: its program gives {len(executable.handlers)} arrays, "
                f"and its manifest says {said}"
            )

    def _load(self, target: xla.Target) -> xla.Executable:
        label = target.backend if target.device is None else f"{target.backend} {target.device}"
        stored = [each for each in self.executables if each.target == target]
        if not stored:
            raise ArtifactError(f"{self.path} has no executable for {label}", hint=_RECOMPILE)
        here = host.Host.here(), xla.versions()
        reason = host.misfit(stored[0], self.manifest.versions, *here)
        if reason is not None:
            raise ArtifactError(
                f"the executable for {label} in {self.path} does not fit this machine: {reason}",
                hint=_RECOMPILE,
            )
        return xla.load(self.members[stored[0].member], target)

    def _signature(self) -> stages.Signature:
        s = self.manifest.signature
        return stages.Signature(
            self.manifest.function,
            s.argument_tree.structure(),
            s.result_tree.structure(),
            tuple(a.name for a in s.arguments),
            tuple(shaped(a.shape, dtypes.dtype(a.dtype), a.weak_type) for a in s.arguments),
            tuple(shaped(a.shape, dtypes.dtype(a.dtype), a.weak_type) for a in s.results),
            frozenset(i for i, a in enumerate(s.arguments) if a.donated),
        )


_RECOMPILE = "it can be compiled again from the StableHLO in the bundle: allow recompiling"


def load(path: str | os.PathLike[str]) -> Bundle:
    """Read and verify a bundle; no runtime is started, and none of its code runs.

    Raises:
      UsageError: when the file is missing or cannot be read.
      ArtifactError: when the file is damaged, is no bundle, or has a schema of another version.
    """
    path = Path(path)
    members = container.read(path)
    content = members.pop(MANIFEST, None)
    if content is None:
        raise ArtifactError(f"{path} is not an .olympus bundle: it has no {MANIFEST}")
    try:
        manifest = parse_manifest(content)
        _verify(manifest.members, members)
    except ArtifactError as exc:
        raise ArtifactError(f"{path} cannot be used: {exc}") from exc
    return Bundle(path, manifest, members)


def _verify(expected: Mapping[str, Member], members: Mapping[str, bytes]) -> None:
    for name in sorted(expected.keys() | members.keys() | {OLYMPUSPR}):
        if name not in members:
            raise ArtifactError(f"its member {name!r} is missing")
        if name not in expected:
            raise ArtifactError(f"its member {name!r} is not in its manifest")
        content, said = members[name], expected[name]
        if len(content) != said.size:
            raise ArtifactError(
                f"its member {name!r} has {len(content)} bytes, and should have {said.size}"
            )
        if hashlib.sha256(content).hexdigest() != said.sha256:
            raise ArtifactError(f"its member {name!r} was altered: its SHA-256 is another one")
