"""A program that is ready to be called on NumPy arrays.

It comes from the stages or from a bundle, and takes and gives flat lists of arrays.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import olympus
from olympus import tree
from olympus.errors import BackendError, CompileError
from olympus.sharding import expect_devices
from olympus_cli.frontends.python import load_target
from olympus_cli.isolated.call import Say, call
from olympus_cli.program.leaves import Leaf
from olympus_cli.program.stages import Program
from olympus_cli.spec.model import TargetSpec

__all__ = ["Runnable", "check_flags", "compile_to_run", "runnable", "with_one_backend"]


@dataclass(frozen=True)
class Runnable:
    """A compiled program, the names of what it takes and gives, and warnings of its stages."""

    compiled: Any
    arguments: Sequence[Leaf]
    results: Sequence[Leaf]
    warnings: Sequence[str] = ()

    def places(self, backend: olympus.Target) -> list[Any]:
        """Where each argument lies, as `olympus.device_put` takes it: a device or a sharding."""
        if self.compiled.num_devices == 1:
            return [olympus.devices(backend.backend)[0]] * len(self.arguments)
        return tree.leaves(self.compiled.input_shardings)

    def bind(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call, from one array for each of `arguments`."""
        args, kwargs = tree.unflatten(self.compiled.in_tree, arrays)
        return args, kwargs

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Run the program; one NumPy array for each of `results`.

        Raises:
            BackendError: the device that it was compiled for is not here.
        """
        args, kwargs = self.bind(arrays)
        return [np.asarray(leaf) for leaf in tree.leaves(self.compiled(*args, **kwargs))]


def check_flags() -> None:
    """Try the environment's XLA_FLAGS, once: the compiler ends a process for one it lacks.

    Raises:
        CompileError: the compiler does not take them.
    """
    if "XLA_FLAGS" not in os.environ:
        return
    try:
        call(_start_compiler, does="starts the compiler", quiet=True)
    except CompileError as error:
        raise CompileError(
            "the compiler does not take the XLA_FLAGS of the environment", hint=error.hint
        ) from error


def _start_compiler(_say: Say) -> None:
    olympus.devices()


def runnable(program: Program) -> Runnable:
    """What a program that is compiled for one backend gives to run."""
    (unit,) = program.units
    return Runnable(unit.compiled, program.arguments, program.results, program.warnings)


def compile_to_run(spec: TargetSpec, say: Say = lambda _stage: None) -> Runnable:
    """The program of a target, compiled for a backend of it that is here; `say` gets the stages."""
    say("import")
    program = Program(load_target(with_one_backend(spec)), say)
    program.trace()
    program.lower()
    program.compile()
    return runnable(program)


def with_one_backend(spec: TargetSpec) -> TargetSpec:
    """`spec` with the first of its backends that can run here, or, for want of one, its first."""
    expect_devices(spec.num_devices)  # before the first look at those that are here
    fitting = (backend for backend in spec.backends if _is_here(backend))
    return replace(spec, backends=(next(fitting, spec.backends[0]),))


def _is_here(backend: olympus.Target) -> bool:
    """Whether there is a device of the backend; a compiler for it is not enough.

    A CPU is not looked at, which would fix how many devices it has.
    """
    if backend.backend == "cpu":
        return True
    try:
        return bool(olympus.devices(backend.backend))
    except BackendError:
        return False
