"""Loading of a bundle, and the program in it, called like the function that it was built from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olympus_runtime.arguments import ArgumentMatcher
from olympus_runtime.bindings import JAXLIB_VERSION
from olympus_runtime.buckets import BucketManifest, BucketProgram
from olympus_runtime.bundle_file import (
    BundleFile,
    program_manifest,
    read_bundle,
    read_part,
    without_weights,
)
from olympus_runtime.cpu import cpu_client
from olympus_runtime.errors import ArtifactError, BackendError, SignatureError, UsageError
from olympus_runtime.executable import Array, RunningProgram, compile_program, load_executable
from olympus_runtime.host import COMPILERS, Host
from olympus_runtime.manifest import (
    ArrayInfo,
    Manifest,
    Signature,
    StoredExecutable,
    type_text,
)
from olympus_runtime.signatures import PublicKey, public_keys
from olympus_runtime.weight_bundles import WEIGHTS, WeightManifest
from olympus_runtime.weights import BoundProgram, read_weights, weights_in

#: The dtypes of Python's numbers; without a dtype of their own they also take the wider one.
_PYTHON = {
    bool: "bool",
    int: "int32 int64",
    float: "float32 float64",
    complex: "complex64 complex128",
}
#: 64-bit values are narrowed, as by OLYMPUS.
_NARROWED = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}


class Program:
    """A loaded program: called like its function, with NumPy arrays.

    Calls wait for their results, and several threads may call at the same time.
    `backend` is the one that it runs on; `executable` is None if it was compiled again.
    """

    def __init__(
        self, file: BundleFile, run: RunningProgram, backend: str, stored: StoredExecutable | None
    ) -> None:
        self.path, self.manifest = file.path, program_manifest(file)
        self.backend, self.executable = backend, stored
        self._run = run
        self._matcher = ArgumentMatcher(self.manifest.function, self.signature)
        arguments = self.signature.arguments
        self._types = [(a.dtype, a.shape) for a in arguments]
        self._result_tree = self.signature.result_tree
        self._is_single = self._result_tree.kind == "leaf"
        args, named = self.signature.argument_tree.items
        self._is_flat = not named.items and all(node.kind == "leaf" for node in args.items)

    @property
    def signature(self) -> Signature:
        """The arguments and results: names, types and trees."""
        return self.manifest.signature

    @property
    def executables(self) -> tuple[StoredExecutable, ...]:
        """The executables in the bundle."""
        return self.manifest.executables

    def __repr__(self) -> str:
        return f"<program {self.manifest.name!r} of {self.path} on the {self.backend}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments of the compiled types.

        Raises SignatureError (a TypeError) that lists the arguments of another type or structure,
        BackendError if the program fails, and CompileError if the memory is too small.
        """
        if self._is_flat and not kwargs and len(args) == len(self._types):
            leaves: Sequence[Any] = args
        else:
            leaves = self._matcher.leaves(args, kwargs)
        results = self.flat(leaves)
        return results[0] if self._is_single else self._result_tree.build(iter(results))

    def flat(self, leaves: Sequence[Any]) -> Sequence[Array]:
        """Return the results of a call in flattened order, for arguments in flattened order.

        Raises as a call.
        """
        for x, (dtype, shape) in zip(leaves, self._types, strict=True):
            if x.__class__ is not np.ndarray or x.dtype != dtype or x.shape != shape:
                return self._run(self._converted(leaves))
        return self._run(leaves)

    def _converted(self, leaves: Sequence[Any]) -> list[Array]:
        """Return the arguments as arrays of the program's types."""
        arrays, wrong = [], []
        for x, argument in zip(leaves, self.signature.arguments, strict=True):
            array = _as_array(x, argument)
            if (array.dtype, array.shape) != (argument.dtype, argument.shape):
                wrong.append(
                    f"Argument '{argument.name}' compiled with "
                    f"{type_text(argument.dtype, argument.shape)} "
                    f"and called with {type_text(array.dtype, array.shape)}"
                )
            arrays.append(array)
        if wrong:
            raise SignatureError(
                "Argument types differ from the types for which this computation was compiled. "
                "The mismatches are:\n" + "\n".join(wrong)
            )
        return arrays


def _as_array(x: Any, argument: ArrayInfo) -> Array:
    """Return an argument as an array; of the program's dtype if it is narrowed, or a number."""
    wanted = argument.dtype.name
    try:
        if wanted in _PYTHON.get(type(x), "").split():
            return np.asarray(x, argument.dtype)
        array = np.asarray(x)
    except (ValueError, TypeError, OverflowError) as exc:
        raise SignatureError(f"the argument {argument.name!r} is not an array: {exc}") from None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    narrowed = _NARROWED.get(array.dtype.name)
    if narrowed is not None and array.dtype != argument.dtype:
        return array.astype(narrowed)
    return array


class _Loader:
    """The choice of the program for this machine among those of a bundle."""

    def __init__(self, file: BundleFile, backend: str | None, native: bool) -> None:
        self.file, self.backend, self.native = file, backend, native
        self.manifest = program_manifest(file)
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
        raw = compile_program(self.file.members[manifest.programs["cpu"]], cpu_client())
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
                    raw = load_executable(content, _client(stored.backend))
                except (ArtifactError, BackendError) as exc:
                    reason = str(exc)
                else:
                    return self._program(raw, stored.backend, stored)
            self.misfits.append(f"{_label(stored)}: {reason}")
        return None

    def _program(self, raw: Any, backend: str, stored: StoredExecutable | None) -> Program:
        try:
            run = RunningProgram(raw, self.manifest.signature)
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


def _label(stored: StoredExecutable) -> str:
    return " ".join(filter(None, (stored.backend, stored.device)))


def _client(backend: str) -> Any:
    if backend == "cpu":
        return cpu_client()
    from olympus_runtime.accelerators import accelerator_client  # few machines have one

    return accelerator_client(backend)


def _misfit(stored: StoredExecutable, manifest: Manifest) -> str | None:
    """Return the reason why an executable cannot run on this machine; None if it can."""
    versions = {"jaxlib": JAXLIB_VERSION}
    if stored.backend != "cpu":
        from olympus_runtime.accelerators import installed_version, is_attached

        if not is_attached(stored.backend):
            return f"this machine has no {stored.backend.upper()}"
        for package in COMPILERS[stored.backend][1:]:
            if (version := installed_version(package)) is not None:
                versions[package] = version
    misfits = stored.host.misfits(stored.backend, manifest.versions, Host.here(), versions)
    return next(misfits, None)


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
) -> Program | BucketProgram | BoundProgram:
    """Read and verify a bundle, and load its program.

    The executable that fits this machine is loaded: one for an attached TPU or GPU before the one
    for the CPU; with `backend`, "cpu", "gpu" or "tpu", only one for it. If none fits, the program
    is compiled for the CPU from its StableHLO, unless `recompile` is False. With `native=False` no
    executable is loaded, because it is native code of its author. With `trust`, a public key or
    several, the bundle must be signed with one of them. With `weights`, a .safetensors file, the
    arguments whose arrays are in it have these values in every call, and a call takes the others.
    The file is mapped into memory. It replaces the weights in the bundle.

    Raises:
      UsageError: a file is missing or cannot be read, a key is not valid, no backend has this
        name, or the arrays of `weights` are not those of arguments.
      ArtifactError: the file is damaged, is not a bundle, is not signed with a key of `trust`, or
        has no program that fits; the message lists its executables.
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
    program = _program(without_weights(file), backend, native, recompile)
    if weights is not None:
        source, arrays = Path(weights), read_weights(weights)
    elif isinstance(file.manifest, WeightManifest):
        source, arrays = file.path, weights_in(file.members.views[WEIGHTS], file.path)
    else:
        return program
    return BoundProgram(program, arrays, source)


def _program(
    file: BundleFile, backend: str | None, native: bool, recompile: bool
) -> Program | BucketProgram:
    if isinstance(file.manifest, BucketManifest):
        return BucketProgram(
            file.path,
            file.manifest,
            lambda size: _Loader(read_part(file, size), backend, native).program(recompile),
        )
    return _Loader(file, backend, native).program(recompile)
