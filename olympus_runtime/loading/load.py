"""The loading of a bundle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from olympus_bundle.buckets import BucketManifest
from olympus_bundle.bundle_file import (
    BundleFile,
    program_manifest,
    read_bundle,
    read_member,
    without_weights,
)
from olympus_bundle.errors import UsageError
from olympus_bundle.host import COMPILERS
from olympus_bundle.host_functions import Functions
from olympus_bundle.signatures import PublicKey, public_keys
from olympus_bundle.symbolic.manifest import SymbolicManifest
from olympus_bundle.weight_bundles import WEIGHTS, WeightManifest
from olympus_bundle.weights import read_weights, weights_in
from olympus_runtime.loading.bound_program import BoundProgram
from olympus_runtime.loading.bucket_program import BucketProgram
from olympus_runtime.loading.fixed_loader import FixedLoader, Options
from olympus_runtime.loading.program import Program
from olympus_runtime.loading.symbolic_loader import SymbolicLoader
from olympus_runtime.loading.symbolic_program import SymbolicProgram

#: A program without weights of its own.
LoadedProgram = Program | BucketProgram | SymbolicProgram


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
    loading = Options(backend, native, recompile, callbacks)
    program = _program(without_weights(file), loading)
    if weights is not None:
        source, arrays = Path(weights), read_weights(weights)
    elif isinstance(file.manifest, WeightManifest):
        source, arrays = file.path, weights_in(file.members.views[WEIGHTS], file.path)
    else:
        return program
    return BoundProgram(program, arrays, source)


def _program(file: BundleFile, options: Options) -> LoadedProgram:
    manifest = file.manifest
    if isinstance(manifest, SymbolicManifest):
        symbolic = SymbolicLoader(file, manifest, options)
        signature = program_manifest(symbolic.first).signature
        return SymbolicProgram(file.path, manifest, signature, symbolic.program)
    if isinstance(manifest, BucketManifest):
        return BucketProgram(
            file.path, manifest, lambda name: _program(read_member(file, name), options)
        )
    return FixedLoader(file, options).program()
