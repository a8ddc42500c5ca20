"""The stages of a program for each backend of its target, with their times.

Builds, runs and benchmarks all use these stages.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import olympus
from olympus.errors import BackendError, DeviceMemoryError, UsageError
from olympus.sharding import MOST_DEVICES, expect_devices
from olympus.stages import ArgInfo, Constants
from olympus_cli.faults.blame import is_users
from olympus_cli.frontends.loading import load_target
from olympus_cli.frontends.program_source import ProgramSource
from olympus_cli.frontends.statics import static_text
from olympus_cli.process.streams import stderr_discarded
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.target_table import at_key
from olympus_cli.workers.call import READING, OnStage

#: The last stage that `Program.of` runs.
Stage: TypeAlias = Literal["trace", "lower", "compile"]


def _ignore_stage(_stage: str) -> None:
    pass


def _with_place(warning: warnings.WarningMessage, root: Path) -> str:
    """Return the text of a warning, with the user's source line if the text lacks it."""
    text, file = str(warning.message), warning.filename
    if file in text or not is_users(file):
        return text
    return f"{text}, at {file.removeprefix(f'{root}{os.sep}')}:{warning.lineno}"


def _warn_of_none(source: ProgramSource) -> None:
    """Warn about a function that returns None, at the line where it begins."""
    message = f"function {source.name} returns None and has no results (is a return missing?)"
    file, _, line = (source.definition or "").rpartition(":")
    warnings.warn_explicit(message, UserWarning, file or "<unknown>", int(line or 0))


def _expect_devices(traced: olympus.stages.Traced) -> None:
    """Let the CPU have as many devices as a program needs, whichever backend is compiled first."""
    where = traced.placement()
    if where is not None and where.num_devices <= MOST_DEVICES:
        expect_devices(where.num_devices)


def stored_types(stage: Any) -> list[object]:
    """Return the trees and types of a stage's arguments and results, in the form of a bundle.

    The compiler options and the shardings of its `jit` come last.

    Raises:
        UsageError: a bundle cannot store one of the trees.
    """
    from olympus.artifact import Node  # imports the reader of bundles, which `lower` does not need

    trees = [Node.of(tree).to_data() for tree in (stage.in_tree, stage.out_tree)]
    signature = stage.signature
    types = (*signature.in_avals, *signature.out_avals)
    shardings = (*signature.in_shardings, *signature.out_shardings)
    options = (*signature.compiler_options, *(s for s in shardings if s is not None))
    return [*trees, *map(repr, types), *map(repr, options)]


@dataclass
class Unit:
    """The program for one backend; `compiled` is None before compilation."""

    label: str
    backend: olympus.Target
    lowered: Any
    lower_seconds: float
    compiled: Any = None
    compile_seconds: float = 0.0  # of the whole stage; `compiled` has the compiler's time

    @property
    def kind(self) -> str:
        """The kind of the backend: "cpu", "gpu" or "tpu"."""
        return self.backend.backend

    @cached_property
    def stablehlo(self) -> str:
        """The lowered program as text."""
        return str(self.lowered.as_text())


class Stopwatch:
    """Seconds by name of the part.

    >>> clock = Stopwatch()
    >>> with clock.part("lower"):
    ...     pass
    >>> list(clock.seconds)
    ['lower']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time of the block to the part `name`, which may have several blocks."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent


class Program:
    """The stages of one program for all its backends; `of` runs them in order.

    `on_stage` is called with the name of each stage as it begins. `clock` has the times of "load"
    and "trace"; "load" includes computing the shapes that are taken `from` another function.
    """

    def __init__(
        self,
        source: ProgramSource,
        on_stage: OnStage = _ignore_stage,
        clock: Stopwatch | None = None,
    ) -> None:
        self.source = source
        self.spec = source.spec
        self.units: list[Unit] = []
        self.warnings: list[str] = []
        self.traced: Any = None
        self.has_stacks = False
        self.constants: Constants = "store"
        self.clock = clock or Stopwatch()
        self._on_stage = on_stage

    @classmethod
    def of(
        cls,
        spec: TargetSpec,
        on_stage: OnStage = _ignore_stage,
        *,
        until: Stage,
        labels: Collection[str] | None = None,
        stacks: bool = False,
        keeps_sizes: bool = False,
        self_contained: bool = False,
    ) -> Program:
        """Return the program of a target, after its stages up to and including `until`.

        It is lowered for each backend of the target, or only for those in `labels`. With `stacks`
        it is traced with the call stack of each operation. It is compiled for the backends whose
        compiler is installed, after its `trips` are checked. Symbolic sizes get the values of the
        target, unless with `keeps_sizes`. Large constants are arguments of the lowered programs,
        and in these if `self_contained` is True.

        Raises:
            OlympusError: an error of a stage.

        Example: `Program.of(spec, on_stage, until="lower", labels=["cpu"]).units[0].lowered`.
        """
        on_stage("import")
        clock = Stopwatch()
        with clock.part("load"):
            source = load_target(spec, keeps_sizes=keeps_sizes)
        program = cls(source, on_stage, clock)
        program.constants = "embed" if self_contained else "store"
        program.trace(stacks=stacks)
        if until != "trace":
            program.lower(labels)
        if until == "compile":
            program.leave_out_absent()
            program.check_trips()
            program.compile()
        return program

    def trace(self, *, stacks: bool = False) -> None:
        """Trace the program to Olympuspr; with `stacks` it has the call stack of each operation."""
        with self.clock.part("load"):
            self.source.prepare()
        file = self.source.reads
        self._on_stage("trace" if file is None else f"{READING}{file}")
        # a reader that dies prints the failure of its own code: the message names the file
        quiet = nullcontext() if file is None else stderr_discarded()
        recorded = olympus.include_full_tracebacks_in_locations() if stacks else nullcontext()
        with self.clock.part("trace"), self._recorded_warnings(), recorded, quiet:
            self.traced = self.source.trace()
            if self.traced.out_info is None:
                _warn_of_none(self.source)
        self.has_stacks = stacks

    def lower(self, labels: Collection[str] | None = None) -> None:
        """Lower the Olympuspr to StableHLO for each backend, or only for those in `labels`."""
        _expect_devices(self.traced)
        for label, backend in self.spec.labels.items():
            if labels is not None and label not in labels:
                continue
            self._on_stage(f"lower for {label}")
            start = time.perf_counter()
            with self._recorded_warnings(), olympus.source_root(self.spec.root):
                lowered = self.traced.lower(
                    backend,
                    repeats=self.spec.repeats,
                    linalg=self.spec.linalg,
                    constants=self.constants,
                )
            self.units.append(Unit(label, backend, lowered, time.perf_counter() - start))

    def lowered_for(self, labels: Collection[str], *, stacks: bool = False) -> Program:
        """Return the same program, lowered for the backends of its outputs in `labels`.

        With `stacks` the program is traced again, with the call stack of each operation.
        """
        other = Program(self.source, self._on_stage, self.clock)
        other.spec = replace(self.spec, backends=tuple(self.spec.all_labels.values()))
        if stacks and not self.has_stacks:
            other.trace(stacks=True)
        else:
            other.traced, other.has_stacks = self.traced, self.has_stacks
        other.warnings, other.constants = self.warnings, self.constants
        other.lower(labels)
        return other

    def check_trips(self) -> None:
        """Check the `trips` of the target against the lowered programs, before any compilation.

        Raises:
            UsageError: a key of `trips` is not the line of a loop.
        """
        for unit in self.units if self.spec.trips else ():
            self.cost(unit)

    def cost(self, unit: Unit, *, stacks: bool = False) -> olympus.analysis.Cost:
        """Return the counted cost of a lowered program, with the `trips` of the target.

        Raises:
            UsageError: a key of `trips` is not the line of a loop.
        """
        trips = self.spec.trips
        try:
            cost: olympus.analysis.Cost = unit.lowered.cost(trips, stacks=stacks)
        except UsageError:
            for line, count in trips.items():  # the first wrong key, for its line in olympus.toml
                with at_key(self.spec, "trips", line):
                    unit.lowered.cost({line: count})
            raise
        return cost

    def leave_out_absent(self) -> BackendError | None:
        """Drop the units whose compiler is not installed; return the error for the first, or None.

        Raises:
            BackendError: no unit would be left.
        """
        if all(unit.kind == "cpu" for unit in self.units):
            return None
        absent = {status.name: status for status in olympus.backends() if not status.available}
        missing = [unit for unit in self.units if unit.kind in absent]
        if not missing:
            return None
        status = absent[missing[0].kind]
        error = BackendError(status.note, hint=status.install)
        if len(missing) == len(self.units):
            raise error
        self.units = [unit for unit in self.units if unit not in missing]
        return error

    def compile(self, on_begin: Callable[[], None] = lambda: None) -> None:
        """Compile the StableHLO; `on_begin` is called before each compilation starts."""
        for unit in self.units:
            self.compile_unit(unit, on_begin)

    def compile_fitting(self) -> DeviceMemoryError | None:
        """Compile the units that fit their devices, and drop the others; return the first error."""
        first, fitting = None, []
        for unit in self.units:
            try:
                if unit.compiled is None:
                    self.compile_unit(unit)
                fitting.append(unit)
            except DeviceMemoryError as error:
                first = first or error
        self.units = fitting
        return first

    def compile_unit(self, unit: Unit, on_begin: Callable[[], None] = lambda: None) -> None:
        """Compile the program for one backend; `on_begin` is called before that starts."""
        self._on_stage(f"compile for {unit.label}")
        on_begin()
        start = time.perf_counter()
        with self._recorded_warnings():
            unit.compiled = unit.lowered.compile(
                self.spec.compiler_options, optimize=self.spec.optimize
            )
        unit.compile_seconds = time.perf_counter() - start

    @cached_property
    def general(self) -> Program | None:
        """The program with symbolic sizes, lowered for the same backends; None for fixed sizes."""
        if self.spec.general is None:
            return None
        spec = replace(self.spec.general, backends=self.spec.backends)
        general = Program(load_target(spec, keeps_sizes=True), self._on_stage, self.clock)
        general.trace()
        general.lower([unit.label for unit in self.units])
        return general

    @property
    def seconds(self) -> dict[str, float]:
        """The times of the stages so far, and of the other parts in `clock`."""
        lower = sum(unit.lower_seconds for unit in self.units)
        compiling = sum(unit.compile_seconds for unit in self.units)
        return {**self.clock.seconds, "lower": lower, "compile": compiling}

    @cached_property
    def olympuspr(self) -> str:
        """The program as text, as lowered for the first backend: with its repeated blocks."""
        text: str = self.units[0].lowered.olympuspr_text()
        return text

    @cached_property
    def arguments(self) -> tuple[ArgInfo, ...]:
        """The arguments of the compiled program, in flattened order."""
        arguments: tuple[ArgInfo, ...] = self.traced.arguments
        return arguments

    @cached_property
    def results(self) -> tuple[ArgInfo, ...]:
        """The results of the compiled program, in flattened order."""
        results: tuple[ArgInfo, ...] = self.traced.results
        return results

    @cached_property
    def types(self) -> list[object]:
        """The trees and types of the arguments and results: see `stored_types`."""
        return stored_types(self.traced)

    @property
    def statics(self) -> dict[str, str]:
        """The static arguments by name; each value as Python code, equal in every process."""
        return {name: static_text(value) for name, value in sorted(self.spec.static.items())}

    @contextmanager
    def _recorded_warnings(self) -> Iterator[None]:
        """Save Python's warnings for the report, each only once, instead of printing them."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        texts = [_with_place(warning, self.spec.root) for warning in caught]
        self.warnings += [text for text in texts if text not in self.warnings]
