"""The references for the verification of a program, besides its own."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import olympus
from olympus.errors import ArtifactError, CompileError, UsageError
from olympus.files import typed
from olympus.verification import interpret
from olympus_cli.builder.reuse import ready_to_run
from olympus_cli.program.bundle import load_bundle
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable
from olympus_cli.program.stages import Program
from olympus_cli.spec.backends import parse_backend
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.call import OnStage, call
from olympus_cli.workers.executor import Limits

#: the references that the process of the program computes
OWN = ("op-by-op", "float64", "golden")


@dataclass(frozen=True)
class Reference:
    """Another run of a program: the function that loads it, or None for the interpreter."""

    name: str
    load: Callable[[TargetSpec], Runnable] | None


def parse_reference(text: str, allowed: BundleOptions) -> Reference | None:
    """Return the reference that `--against` names, or None for a reference in `OWN`.

    Raises:
        UsageError: the reference does not exist.
    """
    if text in OWN:
        return None
    if text == "interpreter":
        return Reference(text, None)
    if text.endswith(BUNDLE_SUFFIX):
        load = partial(load_bundle, Path(text).absolute(), parse_backend("cpu"), allowed)
        return Reference(text, partial(_of_file, load))
    try:
        backend = parse_backend(text)
    except UsageError as error:
        raise UsageError(
            f"no reference is named {text!r}",
            hint="it is op-by-op, float64, interpreter, golden, cpu, gpu or FILE.olympus",
        ) from error
    return Reference(text, partial(_of_backend, backend))


def _of_file(load: Callable[[], Runnable], _spec: TargetSpec) -> Runnable:
    return load()


def _of_backend(backend: olympus.Target, spec: TargetSpec) -> Runnable:
    return ready_to_run(_on(backend, spec))


def _on(backend: olympus.Target, spec: TargetSpec) -> TargetSpec:
    """Return the target for one backend, which may differ from the backends it is built for."""
    outputs = spec.outputs if backend in spec.backends else None
    return replace(spec, backends=(backend,), outputs=outputs)


_NO_LIMITS = Limits()


def results_of(
    reference: Reference, spec: TargetSpec, inputs: InputOptions, limits: Limits = _NO_LIMITS
) -> tuple[bytes, ...]:
    """Return the .npy files of the results of a reference, from a separate process.

    Raises:
        OlympusError: the reference cannot be run.
    """
    is_file = reference.name.endswith(BUNDLE_SUFFIX)
    work = _interpreted if reference.load is None else partial(_ran, reference.load)
    files = call(
        work,
        spec,
        inputs,
        action=f"runs {reference.name}" if is_file else "runs",
        quiet=True,
        death=ArtifactError if is_file else CompileError,
        time_limit=limits.time,
        memory_limit=limits.memory,
    )
    results: tuple[bytes, ...] = typed(files, tuple[bytes, ...], "results")
    return results


def _ran(
    load: Callable[[TargetSpec], Runnable],
    on_stage: OnStage,
    spec: TargetSpec,
    inputs: InputOptions,
) -> list[bytes]:
    on_stage("compile")
    program = load(spec)
    on_stage("run")
    return _files(program(inputs.arrays(program.arguments)))


def _interpreted(on_stage: OnStage, spec: TargetSpec, inputs: InputOptions) -> list[bytes]:
    on_stage("lower")
    program = Program.of(spec, until="trace")
    lowered = program.traced.lower(repeats="off")
    on_stage("interpret")
    return _files(interpret(lowered, inputs.arrays(program.arguments)))


def _files(results: Sequence[np.ndarray[Any, Any]]) -> list[bytes]:
    """Return the .npy files of the results."""
    files = []
    for array in results:
        content = io.BytesIO()
        np.lib.format.write_array(content, array, allow_pickle=False)
        files.append(content.getvalue())
    return files
