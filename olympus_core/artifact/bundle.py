"""Reading a bundle, and building a callable program from it.

The whole file is verified before any runtime is called. The program is loaded as it was compiled,
or recompiled for this machine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

from olympus_bundle.bundle_file import OLYMPUSPR, BundleFile, program_manifest, read_bundle
from olympus_bundle.constants import constants_of
from olympus_bundle.host import Host
from olympus_bundle.host_functions import (
    Functions,
    bound_functions,
    check_calls,
)
from olympus_bundle.manifest import MANIFEST, Member
from olympus_bundle.signatures import SIGNATURE, PublicKey, public_keys
from olympus_core import xla
from olympus_core.analysis.sources.sources import SourceMap
from olympus_core.artifact import container
from olympus_core.artifact.at_sizes import at_sizes
from olympus_core.artifact.callbacks import calls_of
from olympus_core.artifact.calling import BundledShardedProgram, program_here
from olympus_core.artifact.handlers import custom_calls
from olympus_core.artifact.manifest import Manifest, StoredExecutable
from olympus_core.artifact.manifest_check import AnyExecutable, check_executable, check_program
from olympus_core.artifact.placing import chosen_devices, first_devices, on_one_device, placed
from olympus_core.artifact.reading import StagesReader
from olympus_core.artifact.saving import sources_member
from olympus_core.artifact.shardings import StoredShardings, tiling
from olympus_core.artifact.signing import SignatureState, signature_state, signed
from olympus_core.base.errors import ArtifactError, CompileError
from olympus_core.execution.hidden_arguments import HiddenArguments
from olympus_core.placement.sharding import Tiling
from olympus_core.stages import stages

_T = TypeVar("_T")
#: The devices of a program of several, in their order.
_Grid = tuple[xla.Device, ...] | None
#: An executable, with its devices and its shardings if it has several devices.
_Placed = tuple[AnyExecutable, _Grid, StoredShardings | None]


@dataclass(frozen=True, repr=False)
class Bundle:
    """A verified bundle: its manifest, and its members.

    `native` is True if its executables may be loaded, and `trusted` if its signature was verified.

    >>> load("f.olympus")
    <bundle 'f' in f.olympus: 8 devices, for cpu, gpu 8xh200>
    """

    path: Path
    manifest: Manifest
    members: Mapping[str, bytes] = field(repr=False)
    native: bool = True
    trusted: bool = False
    manifest_bytes: bytes = field(default=b"", repr=False)  # as they are in the file
    signature: bytes | None = field(default=None, repr=False)  # the member, None if unsigned
    file: BundleFile | None = field(default=None, repr=False)  # it has the constants

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
        """The stored executables; `members[executable.member]` are the bytes of one."""
        return self.manifest.executables

    def signature_state(
        self, trust: PublicKey | Sequence[PublicKey] | None = None
    ) -> SignatureState:
        """Return the state of the signature; `trust` are the trusted public keys, as for `load`.

        Raises UsageError if a key of `trust` is not valid, and BackendError if `trust` is given and
        the package `cryptography` is not installed.

        >>> load("f.olympus").signature_state().state
        'unsigned'
        """
        keys = () if trust is None else public_keys(trust)
        return signature_state(self.manifest_bytes, self.signature, keys)

    def constants(self, backend: str = "cpu") -> HiddenArguments:
        """Return the large constants of the program for a backend, in the mapped file.

        Raises ArtifactError if they are absent or damaged.

        >>> load("f.olympus").constants().bytes
        0
        """
        stored = [] if self.file is None else constants_of(self.file, backend)
        return HiddenArguments([array for _, array in stored])

    def misfit(self, executable: StoredExecutable) -> str | None:
        """Return the reason why an executable cannot run on this machine; None if it can.

        >>> bundle.misfit(bundle.executables[0])
        'it was built with jaxlib 0.10.2, and here jaxlib is 0.11.0'
        """
        backend = executable.backend
        absent = None if xla.is_attached(backend) else f"this machine has no {backend.upper()}"
        return self._incompatibility(executable) or absent

    def _incompatibility(self, executable: StoredExecutable) -> str | None:
        """Return the reason why the versions or the processor of this machine do not fit."""
        here, versions = Host.here(), self.manifest.versions
        misfits = executable.host.misfits(executable.backend, versions, here, xla.versions())
        return next(misfits, None)

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
        """Return the program as lowered for a backend, in portable StableHLO bytecode.

        For a backend that it was not lowered for, return the program of another one: they differ
        only in operations with a form of their own on some backend.
        """
        programs = self.manifest.programs
        return self.members[programs.get(backend) or next(iter(programs.values()))]

    def sources(self, backend: str = "cpu") -> SourceMap | None:
        """Return the source line of each operation of `stablehlo(backend)`, without the line's
        text.

        Return None if the bundle does not have it. Raises ArtifactError if it cannot be read.
        """
        programs = self.manifest.programs
        program = programs.get(backend) or next(iter(programs.values()))
        content = self.members.get(sources_member(program))
        return None if content is None else SourceMap.parse(content)

    def custom_calls(self, executable: StoredExecutable) -> tuple[str, ...]:
        """Return the names of the custom calls of an executable, sorted.

        XLA contains some of them; a process that runs the executable must register the others.
        Raises ArtifactError if the StableHLO cannot be read.

        >>> bundle.custom_calls(bundle.executables[0])
        ('lapack_sgetrf_ffi',)
        """
        program = self.stablehlo(executable.backend)
        return custom_calls(program, self.members[executable.member])

    def tilings(self, executable: StoredExecutable) -> list[Tiling | None]:
        """Return the tiling of each argument, then of each result, over the program's devices.

        They are None for a program of one device. Raises ArtifactError if one is not stored.

        >>> bundle.tilings(bundle.executables[0])[0]
        Tiling(counts=(4, 1), places=((0, 0), (1, 0), (2, 0), (3, 0)))
        """
        signature, shardings = self.manifest.signature, executable.shardings
        arrays = (*signature.arguments, *signature.results)
        if shardings is None:
            return [None] * len(arrays)
        tilings: list[Tiling | None] = []
        stored_shardings = (*shardings.arguments, *shardings.results)
        for array, stored in zip(arrays, stored_shardings, strict=True):
            if stored is None:
                raise ArtifactError(f"{self.path} has no sharding of {array.name}")
            tilings.append(tiling(stored, len(array.shape)))
        return tilings

    def compiled(
        self,
        target: xla.Target | None = None,
        *,
        recompile: bool = True,
        devices: Sequence[xla.Device] | None = None,
        callbacks: Functions | None = None,
    ) -> stages.Compiled:
        """Return the program for a target (by default the CPU), callable like the function.

        The stored executable is loaded if it fits this machine: built by the same jaxlib, for the
        same system, and on a processor without instructions that this one lacks. Otherwise the
        program is compiled from StableHLO.

        A program of several devices runs on the first ones of the target, or on `devices`, in the
        program's numbering of devices: that of its mesh.

        `callbacks` are the Python functions that the program calls, by the names in its manifest.

        Raises:
          ArtifactError: a function is not in `callbacks`, no executable fits and `recompile` is
            False, the bundle has no program for the target's backend, or the program does not match
            the manifest.
          BackendError: the target's device, or its compiler, is not available, or there are fewer
            devices than the program needs.
          UsageError: the target's device is neither built in nor the user's own with its figures,
            and no executable is for one of that name; or the number of `devices` is not that of the
            program, or they are not the target's.
          CompileError: the program cannot be compiled for the target.

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
        functions = bound_functions(self.path, self.manifest.callbacks, callbacks)
        calls = calls_of(functions)
        xla.check_attached(target)
        self.check_program(target.backend)
        program = self.stablehlo(target.backend)
        try:
            program_parts = self._load(target, devices, calls)
        except ArtifactError:
            if not recompile:
                raise
            program_parts = self._compile(program, target, devices, calls)
        if functions.declared:
            text = program_parts[0].hlo_text
            self._checked(lambda: check_calls(text, functions))
        return self._checked(lambda: self._program(target, *program_parts))

    def check_program(self, backend: str = "cpu") -> None:
        """Compare the manifest with `stablehlo(backend)`.

        Raises:
          ArtifactError: the StableHLO cannot be read, or has other arguments or results.
        """
        program = self.stablehlo(backend)
        signature, constants = self.manifest.signature, self.manifest.constants_for(backend)
        self._checked(lambda: check_program(signature, program, self.num_devices, constants))

    def _program(
        self,
        target: xla.Target,
        executable: AnyExecutable,
        devices: _Grid,
        shardings: StoredShardings | None,
    ) -> stages.Compiled:
        """Return the program of an executable on devices, with the stored shardings."""
        signature, interface, backend = self.manifest.signature, self.interface, target.backend
        infos, constants = self.manifest.constants_for(backend), self.constants(backend)
        if devices is None or shardings is None:
            check_executable(signature, executable, constants=infos)
            if target.backend == "cpu" or not isinstance(executable, xla.Executable):
                return program_here(signature, interface, executable, target, constants)
            program = on_one_device(self.manifest, executable, target)
        else:
            program = placed(self.manifest, shardings, executable, devices)
        return BundledShardedProgram(signature, interface, program, target, None, constants)

    def _known(self, target: xla.Target) -> xla.Target:
        """Return the target if its device is built in, has figures, or has an executable."""
        if target.model is not None or any(self._is_for(e, target) for e in self.executables):
            return target
        topology = None if target.topology is None else str(target.topology)
        return xla.target(target.backend, target.device, None, topology)

    def _is_for(self, stored: StoredExecutable, target: xla.Target) -> bool:
        """Return True if it was compiled for the target, whatever the number of unused devices."""
        if (stored.backend, stored.device) != (target.backend, target.device):
            return False
        if self.num_devices == 1:
            return True
        count = self.num_devices
        return xla.full_topology(stored.target, count) == xla.full_topology(target, count)

    def _grid(
        self, target: xla.Target, devices: Sequence[xla.Device] | None, *, compiles: bool
    ) -> _Grid:
        """Return the devices of the program; None for the first one of the target."""
        count, what = self.num_devices, str(self.path)
        if devices is not None:
            return chosen_devices(what, count, target, devices)
        return first_devices(what, count, target, compiles=compiles) if count > 1 else None

    def _compile(
        self,
        program: bytes,
        target: xla.Target,
        devices: Sequence[xla.Device] | None,
        calls: xla.HostCalls,
    ) -> _Placed:
        """Return the program recompiled, with its devices and its shardings."""
        grid, placement = self._grid(target, devices, compiles=True), self.manifest.placement
        try:
            executable = xla.compile(
                program, target, self.manifest.compiler_options, grid, calls=calls
            )
        except CompileError as exc:
            if target.backend in self.manifest.programs:
                raise
            raise ArtifactError(
                f"{self.path} has no program for {target.backend}, {self._contents()}, and that "
                f"cannot be compiled for {target.backend}: {exc}"
            ) from exc
        if grid is None and target.backend != "cpu" and xla.runs_here(target):
            executable = xla.load_executable(executable.serialize(), target, None, calls)
        return executable, grid, None if placement is None else placement.shardings

    def _contents(self) -> str:
        """Return a description of the content, for the error of a target without a program."""
        return f"only for {', '.join(self.manifest.programs)} (executables: {self._targets()})"

    def _targets(self) -> str:
        return ", ".join(_label(executable.target) for executable in self.executables) or "none"

    def _checked(self, check: Callable[[], _T]) -> _T:
        try:
            return check()
        except ArtifactError as exc:
            raise ArtifactError(f"{self.path} cannot be used: {exc}") from exc

    def _load(
        self, target: xla.Target, devices: Sequence[xla.Device] | None, calls: xla.HostCalls
    ) -> _Placed:
        """Return the executable for a target that fits this machine, with its devices and
        shardings.
        """
        label = _label(target)
        if not self.native:
            raise ArtifactError(
                f"the executables in {self.path} are native code, and it was loaded with "
                "native=False",
                hint=_RECOMPILE,
            )
        stored = [e for e in self.executables if self._is_for(e, target)]
        if not stored:
            raise ArtifactError(f"{self.path} has no executable for {label}", hint=_RECOMPILE)
        reason = self._incompatibility(stored[0])
        if reason is not None:
            raise ArtifactError(
                f"the executable for {label} in {self.path} does not fit this machine: {reason}",
                hint=_RECOMPILE,
            )
        grid = self._grid(target, devices, compiles=False)
        return (
            xla.load_executable(self.members[stored[0].member], target, grid, calls),
            grid,
            stored[0].shardings,
        )

    @property
    def interface(self) -> stages.Interface:
        """The trees, names, types and donations of the program, and its compiler options."""
        s = self.manifest.signature
        return stages.Interface(
            self.manifest.function,
            s.argument_tree.structure(),
            s.result_tree.structure(),
            tuple(a.name for a in s.arguments),
            tuple(argument.aval for argument in s.arguments),
            tuple(result.aval for result in s.results),
            frozenset(i for i, a in enumerate(s.arguments) if a.donated),
            tuple(sorted(self.manifest.compiler_options.items())),
            result_names=tuple(result.name for result in s.results),
        )


def _label(target: xla.Target) -> str:
    if target.device is None:
        return target.backend
    return f"{target.backend} {target.name}"


_RECOMPILE = "it can be compiled again from the StableHLO in the bundle: allow recompiling"


def load(
    path: str | os.PathLike[str],
    *,
    native: bool = True,
    trust: PublicKey | Sequence[PublicKey] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Bundle:
    """Read and verify a bundle; no runtime is started, and none of its code runs.

    `sizes` are values of the variables of a bundle with symbolic sizes: its program for these is
    returned. Other variables have the values of the first sizes that it was built for.

    An executable in a bundle is native code: a call does whatever its author wanted. With
    `native=False` it is never loaded, and the program is compiled from its StableHLO. With `trust`,
    a public key or several (files in PEM or OpenSSH form, or bytes with their content), the bundle
    must be signed with one of them; that is verified before the manifest is read.

    The digests in a bundle detect accidental damage only. Forged digests can match a program that
    makes MLIR's parser end the process: without `trust`, use such a file in a process of its own.

    Raises:
      UsageError: the file is missing or cannot be read, a key is not valid, or `sizes` break a
        constraint.
      ArtifactError: the file is damaged, is not a bundle, has another schema version, is not
        signed with a key of `trust`, or has several programs.
      BackendError: `trust` is given and the package `cryptography` is not installed.

    Example:
      >>> load("f.olympus", trust="team.pub").trusted
      True
    """
    path = Path(path)
    keys = None if trust is None else public_keys(trust)
    file = read_bundle(path, keys, StagesReader())
    if sizes is not None:
        file = replace(at_sizes(file, sizes), path=path)
    manifest = program_manifest(file)
    assert isinstance(manifest, Manifest)
    trusted, content = keys is not None, file.manifest_bytes
    return Bundle(path, manifest, file.members, native, trusted, content, file.signature, file)


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
    file = read_bundle(Path(path), None, StagesReader())
    parts = {MANIFEST: file.manifest_bytes, SIGNATURE: signed(file.manifest_bytes, key)}
    members = {**file.members, **parts}
    to = path if output is None else output
    container.write(Path(to) if isinstance(to, str | os.PathLike) else to, members)


def update_sources(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    sources: Mapping[str, SourceMap],
    executables: Mapping[str, bytes],
) -> None:
    """Write the bundle at `path` to `output` with new source lines.

    `sources` has the maps of the programs, and `executables` the executables in
    which the lines were replaced, both by backend.  A signature is dropped: sign the file again.

    Raises:
      UsageError: a file cannot be read or written.
      ArtifactError: the bundle is damaged, or a map describes another program.

    Example:
      >>> update_sources("old.olympus", "new.olympus", {"cpu": sources}, {})
    """
    bundle = load(path, native=False)
    members = dict(bundle.members)
    for backend, program in bundle.manifest.programs.items():
        lines, name = sources.get(backend), sources_member(program)
        if lines is None or name not in members:
            continue
        if lines.program != SourceMap.parse(members[name]).program:
            raise ArtifactError(
                f"the new source lines describe another program than the one in {path}"
            )
        members[name] = replace(lines, texts={}).to_bytes()
    for stored in bundle.executables:
        if (executable := executables.get(stored.backend)) is not None:
            members[stored.member] = executable
    digests = {n: Member(hashlib.sha256(x).hexdigest(), len(x)) for n, x in members.items()}
    manifest = replace(bundle.manifest, members=digests)
    container.write(Path(output), {**members, MANIFEST: manifest.to_bytes()})
