"""Loading of a bundle: the choice of its program for this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from olympus_runtime.bindings import JAXLIB_VERSION, JaxRuntimeError
from olympus_runtime.buckets import BucketManifest, BucketProgram
from olympus_runtime.bundle_file import (
    BundleFile,
    program_manifest,
    read_bundle,
    read_member,
    without_weights,
)
from olympus_runtime.cpu import cpu_client
from olympus_runtime.errors import ArtifactError, BackendError, UsageError
from olympus_runtime.executable import RunningProgram, compile_program, load_executable
from olympus_runtime.host import COMPILERS, Host
from olympus_runtime.host_functions import Functions, bound_functions
from olympus_runtime.loading import result_store
from olympus_runtime.loading.program import Program
from olympus_runtime.loading.symbolic_program import SymbolicProgram
from olympus_runtime.manifest import ArrayInfo, Manifest, StoredExecutable
from olympus_runtime.signatures import PublicKey, public_keys
from olympus_runtime.symbolic.manifest import SymbolicManifest, part_name, sizes_text
from olympus_runtime.symbolic.sizes import SymbolicShape
from olympus_runtime.weight_bundles import WEIGHTS, WeightManifest
from olympus_runtime.weights import BoundProgram, read_weights, weights_in


class _Loader:
    """The choice of the program for this machine among those of a bundle."""

    def __init__(
        self, file: BundleFile, backend: str | None, native: bool, callbacks: Functions | None
    ) -> None:
        self.file, self.backend, self.native = file, backend, native
        self.manifest = program_manifest(file)
        self.functions = bound_functions(file.path, self.manifest.callbacks, callbacks)
        if self.manifest.placement is not None:
            raise ArtifactError(
                f"{file.path} is for several devices, and olympus_runtime runs programs of one",
                hint="load it with olympus.artifact.load",
            )
        self.misfits: list[str] = []

    def program(self, recompile: bool) -> Program:
        """Return the program of the first executable that fits, or compile it for the CPU."""
        found = self._fitting() if self.native else None
        if found is not None:
            return found
        path, manifest = self.file.path, self.manifest
        if not recompile or self.backend not in (None, "cpu"):
            raise ArtifactError(self._reason(), hint=None if recompile else _RECOMPILE)
        if "cpu" not in manifest.programs or manifest.compiler_options:
            lacks = "has no program for cpu" if "cpu" not in manifest.programs else "sets options"
            raise ArtifactError(
                f"{self._reason()}, and olympus_runtime cannot compile it: it {lacks}",
                hint=f"compile it with olympus.artifact.load({str(path)!r}).compiled()",
            )
        content = self.file.members[manifest.programs["cpu"]]
        raw = compile_program(content, cpu_client(), functions=self.functions)
        return self.compiled(raw)

    def compiled(self, raw: Any) -> Program:
        """Return the program of an executable that was compiled here for the CPU."""
        return self._program(raw, "cpu", None)

    def _fitting(self) -> Program | None:
        """Return the program of the first executable that fits, accelerators first, or None."""
        names = [name for name in _PREFERRED if self.backend in (None, name)]
        executables = self.manifest.executables
        for stored in [e for name in names for e in executables if e.backend == name]:
            reason = _misfit(stored, self.manifest)
            if reason is None:
                try:
                    content = self.file.members[stored.member]
                    raw = load_executable(content, _client(stored.backend), self.functions)
                except (ArtifactError, BackendError) as exc:
                    reason = str(exc)
                else:
                    return self._program(raw, stored.backend, stored)
            self.misfits.append(f"{_label(stored)}: {reason}")
        return None

    def _program(self, raw: Any, backend: str, stored: StoredExecutable | None) -> Program:
        try:
            has_effects = self.functions.has_effects
            run = RunningProgram(raw, self.manifest.signature, has_effects=has_effects)
        except ArtifactError as exc:
            raise ArtifactError(f"{self.file.path} cannot be used: {exc}") from exc
        return Program(self.file, run, backend, stored)

    def _reason(self) -> str:
        """Return the reason why no executable is loaded, with the ones in the bundle."""
        path = self.file.path
        if not self.native:
            return f"the executables in {path} are native code, and it was loaded with native=False"
        if self.misfits:
            return f"{path} has no executable that fits this machine ({'; '.join(self.misfits)})"
        contents = ", ".join(map(_label, self.manifest.executables)) or "none"
        return f"{path} has no executable for {self.backend or 'any device'} (it has: {contents})"


class _SymbolicLoader:
    """The programs of a bundle with symbolic sizes: those in it, and those compiled here."""

    def __init__(
        self,
        file: BundleFile,
        manifest: SymbolicManifest,
        backend: str | None,
        native: bool,
        callbacks: Functions | None,
    ) -> None:
        self.file, self.manifest, self.backend, self.native = file, manifest, backend, native
        self.callbacks = callbacks
        self.first = read_member(file, part_name(manifest.sizes[0]))
        declared = program_manifest(self.first).callbacks
        self.functions = bound_functions(file.path, declared, callbacks)

    def program(self, sizes: Mapping[str, int], recompile: bool) -> Program:
        """Return the program for sizes: of the bundle, of the user's store, or compiled."""
        if (name := part_name(sizes)) in self.file.members:
            part = read_member(self.file, name)
            return _Loader(part, self.backend, self.native, self.callbacks).program(recompile)
        if not recompile:
            compiled = " and ".join(map(sizes_text, self.manifest.sizes))
            raise ArtifactError(
                f"{self.file.path} has no executable for {sizes_text(sizes)}, and only for "
                f"{compiled}",
                hint="its program can be compiled for other sizes: allow recompiling",
            )
        if self.backend not in (None, "cpu") or "cpu" not in self.manifest.programs:
            programs = ", ".join(self.manifest.programs)
            raise ArtifactError(
                f"{self.file.path} has no executable for {sizes_text(sizes)}, and olympus_runtime "
                f"compiles only for the CPU (it was lowered for {programs})",
                hint="build a bundle with the key `at` for these sizes",
            )
        return self._refined(sizes)

    def _refined(self, sizes: Mapping[str, int]) -> Program:
        member = self.manifest.programs["cpu"]
        first = program_manifest(self.first)
        options = sorted(first.compiler_options.items())
        digest = self.manifest.members[member].sha256
        key = result_store.key_of(digest, sorted(sizes.items()), options, *_compiler_facts())
        raw = None
        if (content := result_store.read(key)) is not None:
            with suppress(ArtifactError):  # jaxlib's own bytes are damaged
                raw = load_executable(content, cpu_client(), self.functions)
        if raw is None:
            from olympus_runtime.loading.refining import refined_program  # it loads MLIR

            symbolic = self.manifest.arguments
            dynamic = {
                i: x.at(sizes)
                for i, x in enumerate(symbolic)
                if any(not isinstance(n, int) for n in x.shape)
            }
            program = refined_program(self.file.members[member], dynamic)
            raw = compile_program(program, cpu_client(), options, self.functions)
            with suppress(JaxRuntimeError):  # XLA cannot write some executables
                result_store.write(key, bytes(raw.serialize()))
        shapes = [[x.at(sizes) for x in group] for group in self._arrays()]
        signature = first.signature
        static = replace(
            signature,
            arguments=_with_shapes(signature.arguments, shapes[0]),
            results=_with_shapes(signature.results, shapes[1]),
        )
        manifest = replace(first, signature=static, executables=())
        first_part = replace(self.first, manifest=manifest)
        loader = _Loader(first_part, "cpu", self.native, self.callbacks)
        return loader.compiled(raw)

    def _arrays(self) -> tuple[Sequence[SymbolicShape], Sequence[SymbolicShape]]:
        return self.manifest.arguments, self.manifest.results


def _with_shapes(
    arrays: Sequence[ArrayInfo], shapes: Sequence[tuple[int, ...]]
) -> tuple[ArrayInfo, ...]:
    return tuple([replace(x, shape=shape) for x, shape in zip(arrays, shapes, strict=True)])


def _compiler_facts() -> tuple[object, ...]:
    """Return the properties of this process that a compilation for the CPU depends on."""
    host, flags = Host.here(), os.environ.get("XLA_FLAGS", "")
    return JAXLIB_VERSION, host.system, host.machine, host.cpu_features, flags, os.cpu_count()


def _label(stored: StoredExecutable) -> str:
    return " ".join(filter(None, (stored.backend, stored.device)))


def _client(backend: str) -> Any:
    if backend == "cpu":
        return cpu_client()
    from olympus_runtime.loading.accelerators import accelerator_client  # few machines have one

    return accelerator_client(backend)


def _misfit(stored: StoredExecutable, manifest: Manifest) -> str | None:
    """Return the reason why an executable cannot run on this machine; None if it can."""
    versions = {"jaxlib": JAXLIB_VERSION}
    if stored.backend != "cpu":
        from olympus_runtime.loading.accelerators import installed_version, is_attached

        if not is_attached(stored.backend):
            return f"this machine has no {stored.backend.upper()}"
        for package in COMPILERS[stored.backend][1:]:
            if (version := installed_version(package)) is not None:
                versions[package] = version
    misfits = stored.host.misfits(stored.backend, manifest.versions, Host.here(), versions)
    return next(misfits, None)


#: A program without weights of its own.
LoadedProgram = Program | BucketProgram | SymbolicProgram

_PREFERRED = ("tpu", "gpu", "cpu")
_RECOMPILE = "it can be compiled again from the StableHLO in the bundle: allow recompiling"


def load(
    path: str | os.PathLike[str],
    backend: str | None = None,
    *,
    native: bool = True,
    recompile: bool = True,
    trust: PublicKey | Sequence[PublicKey] | None = None,
    weights: str | os.PathLike[str] | None = None,
    callbacks: Functions | None = None,
) -> LoadedProgram | BoundProgram:
    """Read and verify a bundle, and load its program.

    The executable that fits this machine is loaded: one for an attached TPU or GPU before the one
    for the CPU; with `backend`, "cpu", "gpu" or "tpu", only one for it. If none fits, the program
    is compiled for the CPU from its StableHLO, unless `recompile` is False. With `native=False` no
    executable is loaded, because it is native code of its author. With `trust`, a public key or
    several, the bundle must be signed with one of them. With `weights`, a .safetensors file, the
    arguments whose arrays are in it have these values in every call, and a call takes the others.
    The file is mapped into memory. It replaces the weights in the bundle. A program that calls
    Python functions needs them in `callbacks`, by the names in its manifest.

    Raises:
      UsageError: a file is missing or cannot be read, a key is not valid, no backend has this
        name, or the arrays of `weights` are not those of arguments.
      ArtifactError: the file is damaged, is not a bundle, is not signed with a key of `trust`, or
        has no program that fits; the message lists its executables. Or a function is not in
        `callbacks`.
      BackendError: the device is not available, or the package `cryptography` for `trust`.
      CompileError: the program cannot be compiled.

    Example:
      >>> load("f.olympus")(np.float32(1))
      array(2., dtype=float32)
    """
    if backend is not None and backend not in COMPILERS:
        raise UsageError(f"no backend is named {backend!r}; the backends are cpu, gpu and tpu")
    keys = None if trust is None else public_keys(trust)
    file = read_bundle(Path(path), keys)
    loading = _Options(backend, native, recompile, callbacks)
    program = _program(without_weights(file), loading)
    if weights is not None:
        source, arrays = Path(weights), read_weights(weights)
    elif isinstance(file.manifest, WeightManifest):
        source, arrays = file.path, weights_in(file.members.views[WEIGHTS], file.path)
    else:
        return program
    return BoundProgram(program, arrays, source)


class _Options(NamedTuple):
    """The options of `load` that choose the program."""

    backend: str | None
    native: bool
    recompile: bool
    callbacks: Functions | None


def _program(file: BundleFile, options: _Options) -> LoadedProgram:
    manifest = file.manifest
    backend, native, recompile, callbacks = options
    if isinstance(manifest, SymbolicManifest):
        symbolic = _SymbolicLoader(file, manifest, backend, native, callbacks)
        signature = program_manifest(symbolic.first).signature
        return SymbolicProgram(
            file.path, manifest, signature, lambda sizes: symbolic.program(sizes, recompile)
        )
    if isinstance(manifest, BucketManifest):
        return BucketProgram(
            file.path, manifest, lambda name: _program(read_member(file, name), options)
        )
    return _Loader(file, backend, native, callbacks).program(recompile)
