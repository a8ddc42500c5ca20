"""The `.olympus` bundle: write that of a compiled program, and load one to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import olympus
from olympus.errors import UsageError
from olympus.sharding import expect_devices
from olympus_cli.program.buckets import is_joined, is_symbolic, load_joined, sizes_of
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.runnable import Runnable
from olympus_cli.program.stages import Program
from olympus_cli.spec.backends import parse_backend
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.spec.resolve import Request
from olympus_cli.spec.settings import read_settings
from olympus_cli.terminal import console
from olympus_cli.workers.call import OnStage

if TYPE_CHECKING:
    from olympus.analysis import SourceMap
    from olympus.artifact import Bundle


def save_bundle(
    program: Program,
    directory: Path,
    executables: Mapping[olympus.Target, bytes],
    sources: Mapping[str, SourceMap] | None = None,
) -> Path:
    """Write the program, compiled for all its backends, to `<target>.olympus` in `directory`.

    The bundle of a target with symbolic sizes has the program for all sizes too.

    `executables` are the serialized executables of its stages. `sources` are the source maps of its
    programs by kind of backend, if known. Returns the path of the file.
    """
    spec, general = program.spec, program.general
    path = directory / (spec.name + BUNDLE_SUFFIX)
    part = path if general is None else directory / f".{path.name}"
    olympus.artifact.save(
        part,
        [unit.compiled for unit in program.units],
        lowered=[unit.lowered for unit in program.units],
        olympuspr_text=program.olympuspr,
        name=spec.name,
        entry=spec.entry,
        static=spec.static,
        compiler_options=spec.compiler_options,
        serialized=executables,
        root=spec.root,
        sources=sources,
    )
    if general is not None:
        lowered = [unit.lowered for unit in general.units]
        olympus.artifact.join_symbolic(path, lowered, [(spec.sizes, part)])
        part.unlink()
    return path


_ALL_ALLOWED = BundleOptions()


def bundle_loader(
    request: Request, options: BundleOptions = _ALL_ALLOWED
) -> Callable[[OnStage], Runnable] | None:
    """Return a function that loads the requested bundle; None if the request is not for a bundle.

    A note warns the user that it contains native code, unless that is trusted or does not run.

    Raises:
        UsageError: an option does not apply to the request.
    """
    text = request.text
    if not text.endswith(BUNDLE_SUFFIX):
        if options.trust or not options.native:
            option = "--trust" if options.trust else "--no-native"
            raise UsageError(f"{option} is for a FILE.olympus, and {text!r} is not one")
        if options.size is not None:
            raise UsageError(f"--size is for a FILE.olympus, and {text!r} is not one")
        return None
    if request.shapes or request.statics or request.constraints:
        raise UsageError(
            f"{text} is built already: it takes neither shapes nor statics nor constraints"
        )
    if request.stages:
        option = next(iter(request.stages))
        raise UsageError(f"{text} is built already: it takes no --{option}")
    if options.native and not options.trust and not read_settings().trust:
        console.note(f"{text} holds native code of its author; --no-native runs none of it")
    options = replace(options, sizes=request.at)
    return partial(load_bundle, Path(text), bundle_backend(request), options)


def bundle_backend(request: Request) -> olympus.Target:
    """Return the target to run a bundle on: by default the CPU, or the backend of `device`."""
    backend = request.backend
    if backend is None:
        backend = olympus.backend_of(request.device, request.devices) if request.device else "cpu"
    return parse_backend(backend, request.device, request.devices)


def open_bundle(path: Path, options: BundleOptions, *, native: bool = True) -> Bundle:
    """Return a bundle of one program; that with symbolic sizes is for the sizes of the options.

    Without `native`, its executables are not read, whatever the options permit.

    Raises:
        ArtifactError: the file is damaged or foreign, or lacks a required signature.
        UsageError: there is no such file, or no program for these sizes.
    """
    keys = options.trust or read_settings().trust
    if not is_symbolic(path):
        if options.has_size:
            option = "--at" if options.sizes else "--size"
            raise UsageError(
                f"{option} is for a bundle of several sizes, and {path} has one program"
            )
        return olympus.artifact.load(path, native=native and options.native, trust=keys or None)
    sizes = options.sizes
    if options.size is not None:
        sizes = sizes_of(path, olympus.artifact.symbolic_of(path).variables, options)
    return olympus.artifact.load(
        path, native=native and options.native, trust=keys or None, sizes=sizes
    )


def load_bundle(
    path: Path,
    backend: olympus.Target,
    options: BundleOptions,
    on_stage: OnStage = lambda _stage: None,
) -> Runnable:
    """Return the program in `path` for a backend; `on_stage` gets the stage.

    Without `native` its executable is not read. It must be signed with a key of `trust`, or, if
    that is empty, with one of the user's settings, if they have any.

    Raises:
        ArtifactError: the file is damaged or foreign, lacks a required signature, or, without
            `recompile`, has no executable that fits this machine.
        BackendError: there are fewer devices than the program needs.
        UsageError: there is no such file, or nothing is left to run.
    """
    if not options.native and not options.recompile:
        raise UsageError("--no-native needs a compilation, which --no-recompile forbids")
    on_stage("load")
    keys = options.trust or read_settings().trust
    # on the CPU, the program of other sizes is compiled once, and stored
    if is_joined(path) or (backend.backend == "cpu" and is_symbolic(path)):
        return load_joined(path, backend.backend, options, keys)
    bundle = open_bundle(path, options)
    expect_devices(bundle.num_devices)
    compiled = bundle.compiled(backend, recompile=options.recompile)
    signature = bundle.manifest.signature
    return Runnable(compiled, signature.arguments, signature.results)
