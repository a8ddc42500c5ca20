"""A program that is ready to be called on NumPy arrays.

It comes from the stages or from a bundle. Its arguments and results are flat lists of arrays.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import olympus
from olympus.errors import BackendError, CompileError
from olympus.sharding import expect_devices, more_devices
from olympus.stages import ArgInfo
from olympus.stages import array_trees as tree
from olympus_cli.program.stages import Program
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.call import OnStage, call

_WITHOUT_DEVICE = "--backend cpu runs it on the CPU; `olympus compile` needs no device"


@dataclass(frozen=True)
class Runnable:
    """A compiled program, the names of its arguments and results, and warnings of its stages."""

    compiled: Any
    arguments: Sequence[ArgInfo]
    results: Sequence[ArgInfo]
    warnings: Sequence[str] = ()

    def places(self, backend: olympus.Target) -> list[Any]:
        """Return the place of each argument for `olympus.device_put`: a device or a sharding."""
        if self.compiled.num_devices == 1:
            return [olympus.devices(backend.backend)[0]] * len(self.arguments)
        return tree.leaves(self.compiled.input_shardings)

    def put(self, array: Any, place: Any) -> Any:
        """Return an array at its place, one of `places`."""
        return olympus.device_put(array, place)

    def wait(self, results: Any) -> Any:
        """Wait until the results of a call are ready, and return them."""
        return olympus.block_until_ready(results)

    def bind(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call, from one array for each of `arguments`."""
        args, kwargs = tree.unflatten(self.compiled.in_tree, arrays)
        return args, kwargs

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Run the program, and return one NumPy array for each of `results`.

        Raises:
            BackendError: the device that it was compiled for is not available.
        """
        args, kwargs = self.bind(arrays)
        return [np.asarray(leaf) for leaf in tree.leaves(self.compiled(*args, **kwargs))]


def check_flags() -> None:
    """Check the environment's XLA_FLAGS in another process: an unknown flag aborts the process.

    Raises:
        CompileError: the compiler does not accept them.
    """
    if "XLA_FLAGS" not in os.environ:
        return
    try:
        call(_start_compiler, action="starts the compiler", quiet=True)
    except CompileError as error:
        raise CompileError(
            "the compiler does not take the XLA_FLAGS of the environment", hint=error.hint
        ) from error


def _start_compiler(_on_stage: OnStage) -> None:
    olympus.devices()


def runnable(program: Program) -> Runnable:
    """Return the runnable form of a program that is compiled for one backend."""
    (unit,) = program.units
    return Runnable(unit.compiled, program.arguments, program.results, program.warnings)


def label_to_run(spec: TargetSpec) -> str:
    """Return the label of the first backend of `spec` that can run here, before any work is done.

    Raises:
        BackendError: no backend can: its devices are missing, or fewer than the program needs.
    """
    expect_devices(spec.num_devices)  # before the first query of the present devices
    problem: BackendError | None = None
    for label, backend in spec.labels.items():
        missing = _missing(backend, spec)
        if missing is None:
            return label
        problem = problem or missing
    assert problem is not None
    raise problem


def _missing(backend: olympus.Target, spec: TargetSpec) -> BackendError | None:
    """Return the error if a program cannot run on a backend here; None if it can.

    A compiler for it is not enough. One device of the CPU is always present. It is not queried,
    because a query would fix the number of CPU devices.
    """
    needed = spec.num_devices
    if backend.backend == "cpu" and needed == 1:
        return None
    try:
        attached = len(olympus.devices(backend.backend))
    except BackendError as error:
        what = f"{spec.name} cannot run on {backend_text(backend)}: {error}"
        hint = None if backend.backend == "tpu" else error.hint  # that of a TPU is for Python
        return BackendError(what, hint=hint or _WITHOUT_DEVICE)
    if attached >= needed:
        return None
    number = "is 1" if attached == 1 else f"are {attached}"
    return BackendError(
        f"'{spec.name}' is a program of {needed} devices, and there {number}",
        hint=more_devices(needed) if backend.backend == "cpu" else _WITHOUT_DEVICE,
    )
