"""Reading a bundle, and making a program of it that can be called.

The file is verified whole before any runtime is touched.  The program is loaded as it was compiled,
or compiled anew for this machine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar

from olympus_core import stages, xla
from olympus_core.analysis.sources import SourceMap
from olympus_core.artifact import container, host
from olympus_core.artifact.agreement import AnyExecutable, check_executable, check_program
from olympus_core.artifact.calling import BundledProgram, BundledShardedProgram
from olympus_core.artifact.manifest import MANIFEST, Manifest, Member, StoredExecutable
from olympus_core.artifact.placing import aval_of, chosen_devices, first_devices, placed
from olympus_core.artifact.reading import parse_manifest
from olympus_core.artifact.saving import OLYMPUSPR, sources_member
from olympus_core.artifact.shardings import StoredShardings
from olympus_core.artifact.signing import SIGNATURE, PublicKey, public_keys, signed, verify
from olympus_core.errors import ArtifactError, CompileError

__all__ = ["Bundle", "load", "sign"]

_T = TypeVar("_T")
#: The devices of a program of several, in their order.
_Grid = tuple[xla.Device, ...] | None
_Found = tuple[AnyExecutable, _Grid, StoredShardings | None]


@dataclass(frozen=True, repr=False)
class Bundle:
    """A verified bundle: what it says of itself, and its members.

    `native` is whether its executables may be loaded, and `trusted` whether its signature was
    verified.

    >>> load("f.olympus")
    <bundle 'f' in f.olympus: 8 devices, for cpu, gpu 1x8xh200>
    """

    path: Path
    manifest: Manifest
    members: Mapping[str, bytes] = field(repr=False)
    native: bool = True
    trusted: bool = False

    def __repr__(self) -> str:
        count = self.num_devices
        needs = f"{count} device{'s' * (count > 1)}"
        return f"<bundle {self.manifest.name!r} in {self.path}: {needs}, for {self._targets()}>"

    @property
    def num_devices(self) -> int:
        """The number of devices that the program needs; it runs on so many."""
        return self.manifest.num_devices

    @property
    def executables(self) -> tuple[StoredExecutable, ...]:
        """The executables that it holds; `members[executable.member]` are the bytes of one."""
        return self.manifest.executables

    @property
    def olympuspr(self) -> str:
        """The program as text of the IR.

        Raises ArtifactError when its bytes are not UTF-8.
        """
        try:
            return self.members[OLYMPUSPR].decode()
        except UnicodeDecodeError as exc:
            raise ArtifactError(f"{self.path} is damaged: {OLYMPUSPR} in it is not UTF-8") from exc

    def stablehlo(self, backend: str = "cpu") -> bytes:
        """The program as lowered for a backend, in portable StableHLO bytecode.

        A backend that it was not lowered for gets the program of another one: they differ only
        where an operation has a form of its own on some backend.
        """
        programs = self.manifest.programs
        return self.members[programs.get(backend) or next(iter(programs.values()))]

    def sources(self, backend: str = "cpu") -> SourceMap | None:
        """Which source line each operation of `stablehlo(backend)` comes from, without the lines.

        None where the bundle does not keep it.  Raises ArtifactError when that cannot be read.
        """
        programs = self.manifest.programs
        program = programs.get(backend) or next(iter(programs.values()))
        content = self.members.get(sources_member(program))
        return None if content is None else SourceMap.parse(content)

    def compiled(
        self,
        target: xla.Target | None = None,
        *,
        recompile: bool = True,
        devices: Sequence[xla.Device] | None = None,
    ) -> stages.Compiled:
        """The program for a target (the CPU unless given), to be called like the function.

        The stored executable is loaded when it fits this machine: built by the same jaxlib, for
        the same system, and on a processor that can do nothing that this one cannot.  Otherwise
        the program is compiled from StableHLO.

        A program of several devices runs on the first ones of the target, or on `devices`, in the
        order in which the program numbers them: that of its mesh.

        Raises:
          ArtifactError: when no executable fits and `recompile` is False, the bundle has no
            program for the target's backend, or the program is not what the manifest says.
          BackendError: when the target's device, or what compiles for it, is not here, or there are
            fewer devices than the program needs.
          UsageError: when the target's device is neither one that ships nor the user's own with its
            figures, and there is no executable for one of that name; when `devices` are not as
            many as the program needs, or not the target's.
          CompileError: when the program cannot be compiled for the target.

        Example:
          >>> load("f.olympus").compiled()(1.0)
          Array(2., dtype=float32)
        """
        target = self._known(target or xla.Target("cpu"))
        if target.backend not in ("cpu", *self.manifest.programs):
            raise ArtifactError(
                f"{self.path} has no program for {target.backend}, {self._contents()}",
                hint=f"build it for {target.backend} too: backends in olympus.toml",
            )
        program = self.stablehlo(target.backend)
        self._checked(lambda: check_program(self.manifest.signature, program, self.num_devices))
        try:
            found = self._load(target, devices)
        except ArtifactError:
            if not recompile:
                raise
            found = self._compile(program, target, devices)
        return self._checked(lambda: self._program(target, *found))

    def _program(
        self,
        target: xla.Target,
        executable: AnyExecutable,
        devices: _Grid,
        told: StoredShardings | None,
    ) -> stages.Compiled:
        """The program of an executable on devices, with the shardings that are told of it."""
        signature, interface = self.manifest.signature, self._interface()
        if devices is None or told is None:
            check_executable(signature, executable)
            return BundledProgram(signature, interface, executable, target)
        made = placed(self.manifest, told, executable, devices)
        return BundledShardedProgram(signature, interface, made, target)

    def _known(self, target: xla.Target) -> xla.Target:
        """The target with its device, which ships, comes with figures, or was compiled for."""
        if target.model is not None or any(self._is_for(each, target) for each in self.executables):
            return target
        topology = None if target.topology is None else str(target.topology)
        return xla.target(target.backend, target.device, None, topology)

    def _is_for(self, stored: StoredExecutable, target: xla.Target) -> bool:
        """Whether it was compiled for the target: how many devices are not used does not matter."""
        if (stored.backend, stored.device) != (target.backend, target.device):
            return False
        one_host = xla.Topology(1, self.num_devices)
        several = self.num_devices > 1
        return not several or (stored.topology or one_host) == (target.topology or one_host)

    def _grid(
        self, target: xla.Target, devices: Sequence[xla.Device] | None, *, compiles: bool
    ) -> _Grid:
        """The devices of the program; None for the first one of the target."""
        count, what = self.num_devices, str(self.path)
        if devices is not None:
            return chosen_devices(what, count, target, devices)
        return first_devices(what, count, target, compiles=compiles) if count > 1 else None

    def _compile(
        self, program: bytes, target: xla.Target, devices: Sequence[xla.Device] | None
    ) -> _Found:
        """The program compiled anew, with its devices and what it says of its arrays."""
        grid, placement = self._grid(target, devices, compiles=True), self.manifest.placement
        try:
            made = xla.compile(program, target, self.manifest.compiler_options, grid)
        except CompileError as exc:
            if target.backend in self.manifest.programs:
                raise
            raise ArtifactError(
                f"{self.path} has no program for {target.backend}, {self._contents()}, and that "
                f"cannot be compiled for {target.backend}: {exc}"
            ) from exc
        return made, grid, None if placement is None else placement.shardings

    def _contents(self) -> str:
        """What it has, for the error of a target that it has not."""
        return f"only for {', '.join(self.manifest.programs)} (executables: {self._targets()})"

    def _targets(self) -> str:
        return ", ".join(_label(each.target) for each in self.executables) or "none"

    def _checked(self, check: Callable[[], _T]) -> _T:
        try:
            return check()
        except ArtifactError as exc:
            raise ArtifactError(f"{self.path} cannot be used: {exc}") from exc

    def _load(self, target: xla.Target, devices: Sequence[xla.Device] | None) -> _Found:
        """The executable for a target that fits this machine, with its devices and shardings."""
        label = _label(target)
        if not self.native:
            raise ArtifactError(
                f"the executables in {self.path} are native code, and it was loaded with "
                "native=False",
                hint=_RECOMPILE,
            )
        stored = [each for each in self.executables if self._is_for(each, target)]
        if not stored:
            raise ArtifactError(f"{self.path} has no executable for {label}", hint=_RECOMPILE)
        here = host.Host.here(), xla.versions()
        reason = host.misfit(stored[0], self.manifest.versions, *here)
        if reason is not None:
            raise ArtifactError(
                f"the executable for {label} in {self.path} does not fit this machine: {reason}",
                hint=_RECOMPILE,
            )
        grid = self._grid(target, devices, compiles=False)
        return xla.load(self.members[stored[0].member], target, grid), grid, stored[0].shardings

    def _interface(self) -> stages.Interface:
        s = self.manifest.signature
        return stages.Interface(
            self.manifest.function,
            s.argument_tree.structure(),
            s.result_tree.structure(),
            tuple(a.name for a in s.arguments),
            tuple(map(aval_of, s.arguments)),
            tuple(map(aval_of, s.results)),
            frozenset(i for i, a in enumerate(s.arguments) if a.donated),
        )


def _label(target: xla.Target) -> str:
    if target.device is None:
        return target.backend
    many = "" if target.topology is None else f"{target.topology}x"
    return f"{target.backend} {many}{target.device}"


_RECOMPILE = "it can be compiled again from the StableHLO in the bundle: allow recompiling"


def load(
    path: str | os.PathLike[str],
    *,
    native: bool = True,
    trust: PublicKey | Sequence[PublicKey] | None = None,
) -> Bundle:
    """Read and verify a bundle; no runtime is started, and none of its code runs.

    An executable in a bundle is native code: calling it does whatever its author wanted.  With
    `native=False` it is never loaded, and the program is compiled from its StableHLO.  With
    `trust`, a public key or several (files in PEM or OpenSSH form, or bytes with their content),
    the bundle must be signed with one of them; that is verified before the manifest is read.

    Raises:
      UsageError: when the file is missing or cannot be read, or a key is not one.
      ArtifactError: when the file is damaged, is not a bundle, has a schema of another version, or
        is not signed with a key of `trust`.
      BackendError: when there is `trust` and the package `cryptography` is not installed.

    Example:
      >>> load("f.olympus", trust="team.pub").trusted
      True
    """
    path = Path(path)
    keys = None if trust is None else public_keys(trust)
    return _verified(path, container.read(path), native, keys)


def _verified(
    path: Path, members: dict[str, bytes], native: bool, keys: Sequence[bytes] | None
) -> Bundle:
    content = members.pop(MANIFEST, None)
    if content is None:
        raise ArtifactError(f"{path} is not an .olympus bundle: it has no {MANIFEST}")
    signature = members.pop(SIGNATURE, None)
    try:
        if keys is not None:
            verify(content, signature, keys)
        manifest = parse_manifest(content)
        _verify(manifest.members, members)
    except ArtifactError as exc:
        raise ArtifactError(f"{path} cannot be used: {exc}") from exc
    return Bundle(path, manifest, members, native, keys is not None)


def sign(
    path: str | os.PathLike[str],
    key: str | os.PathLike[str],
    output: str | os.PathLike[str] | BinaryIO | None = None,
) -> None:
    """Sign a bundle with the private Ed25519 key in a file, in place or as the file `output`.

    `output` is a path, or a file that is open for writing bytes.  A signature that the bundle has
    is replaced.  The bundle is verified first.

    Raises:
      UsageError: when a file cannot be read or written, or has no such key.
      ArtifactError: when the bundle is damaged.
      BackendError: when the package `cryptography` is not installed.

    Example:
      >>> sign("f.olympus", "team.key")
    """
    members = container.read(Path(path))
    _verified(Path(path), dict(members), True, None)
    members[SIGNATURE] = signed(members[MANIFEST], key)
    to = path if output is None else output
    container.write(Path(to) if isinstance(to, str | os.PathLike) else to, members)


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
