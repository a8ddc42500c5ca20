"""The compilation of a lowered program through the store of results.

The result of each unit comes from the local store, from the remote store or from the compiler, in
this order. A key is compiled once on a machine: other processes wait for the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from olympus.analysis import Relocation
from olympus.errors import ArtifactError, BackendError, OlympusError
from olympus_cli.builder.results.compile_key import CompileKey, Line, compile_key
from olympus_cli.builder.results.compile_process import (
    HelperResult,
    compiled_by_helper,
    has_helper,
)
from olympus_cli.builder.results.entry import decoded, encoded
from olympus_cli.builder.results.local import LocalStore
from olympus_cli.builder.results.remote import GuardedRemote
from olympus_cli.builder.results.result import CompilationResult, saved_figures
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.build_report import ResultOrigin
from olympus_cli.reports.program_figures import (
    CompiledFigures,
    compiled_figures,
    completed_figures,
)
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.cache import CacheSpec, Use, environment_cache
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.settings import read_settings
from olympus_cli.workers.call import WAITING, OnStage


class Obtained(NamedTuple):
    """The result of a unit, and its origin."""

    result: CompilationResult
    origin: ResultOrigin
    by_helper: bool = False
    inspected: CompiledFigures | None = None  # by another process that compiled it
    peak_memory: int | None = None  # of that process
    lowered_hlo: str | None = None  # from that process

    @property
    def can_run(self) -> bool:
        """True if this process has compiled it."""
        return not self.is_stored and not self.by_helper

    @property
    def is_stored(self) -> bool:
        """True if it was not compiled in this build."""
        return self.origin.source != "compiled"

    def figures(self, unit: Unit, spec: TargetSpec) -> CompiledFigures:
        """Return the figures of the compiled program of a unit of `spec`."""
        if self.is_stored:
            return saved_figures(unit, spec, self.result.figures.memory)
        if self.inspected is not None:
            return completed_figures(self.inspected, unit.compiled, spec.root, spec.trips)
        return compiled_figures(unit.compiled, spec.root, spec.trips)


@dataclass(frozen=True)
class Compiling:
    """The settings of a compilation: its stores, their use, and whether the program `runs` here.

    A program that does not run is loaded for inspection only, without its native code.
    """

    cache: CacheSpec
    use: Use = "read"
    runs: bool = False

    def compile(
        self,
        program: Program,
        on_stage: OnStage,
        on_begin: Callable[[], None] = lambda: None,
    ) -> dict[str, Obtained]:
        """Give each unit of a lowered program its compiled form; return the results by label.

        `on_begin` is called before a compilation starts.

        Raises:
            OlympusError: the errors of `Program.compile`.
        """
        stores = _Stores.of(self.cache)
        try:
            return {
                unit.label: self._obtained(program, unit, stores, on_stage, on_begin)
                for unit in program.units
            }
        finally:
            problems = [] if stores is None else stores.problems
            known = program.warnings
            program.warnings = [*known, *(text for text in problems if text not in known)]

    def _obtained(
        self,
        program: Program,
        unit: Unit,
        stores: _Stores | None,
        on_stage: OnStage,
        on_begin: Callable[[], None],
    ) -> Obtained:
        if stores is None or not _can_be_stored(unit):
            return self._compiled(program, unit, None, on_stage, on_begin)
        key = compile_key(program.spec, unit)
        on_wait = lambda: on_stage(f"{WAITING}another build of this program")  # noqa: E731
        with stores.local.lock(key.digest, on_wait):
            if self.use == "read":
                found = self._stored(unit, key, stores, on_stage)
                if found is not None:
                    return found
            obtained = self._compiled(program, unit, key, on_stage, on_begin)
            name, backend = unit.lowered.fun_name, backend_text(unit.backend)
            stores.local.put(key.digest, encoded(key.digest, name, backend, obtained.result))
        return obtained

    def _compiled(
        self,
        program: Program,
        unit: Unit,
        key: CompileKey | None,
        on_stage: OnStage,
        on_begin: Callable[[], None],
    ) -> Obtained:
        """Return the compiler's result, from a helper if the program need not run here."""
        lines, digest = ((), None) if key is None else (key.lines, key.digest)
        origin = ResultOrigin("compiled", digest, None)
        helped = None if self.runs else _by_helper(program, unit, on_stage, on_begin)
        if helped is None:
            program.compile_unit(unit, on_begin)
            return Obtained(CompilationResult.of(unit, program.clock, lines), origin)
        result = CompilationResult.of_files(unit, helped.files, helped.inspected, lines)
        return Obtained(
            result,
            origin,
            by_helper=True,
            inspected=helped.inspected,
            peak_memory=helped.peak_memory,
            lowered_hlo=helped.files.lowered_hlo,
        )

    def _stored(
        self, unit: Unit, key: CompileKey, stores: _Stores, on_stage: OnStage
    ) -> Obtained | None:
        """Return the stored result for a key, loaded into the unit; None if there is none."""
        begin = time.perf_counter()
        if stores.remote is not None:
            on_stage(f"look for the stored result for {unit.label}")
        found = stores.find(key.digest)
        if found is None:
            return None
        on_stage(f"read the stored result for {unit.label}")
        result, origin = found
        try:
            result = with_present_lines(result, key.lines, unit.kind)
            if self.runs:
                unit.compiled = unit.lowered.load(result.executable)
            else:
                parts = result.hlo, result.executable, result.shardings
                unit.compiled = unit.lowered.read_compiled(*parts)
        except BackendError:  # it cannot be loaded without its device, and is compiled
            return None
        except ArtifactError as error:
            stores.local.problems.append(f"the result {key.digest} is not used: {error}")
            return None
        unit.compile_seconds = time.perf_counter() - begin
        return Obtained(result, origin)


def _can_be_stored(unit: Unit) -> bool:
    """Return True if a stored result has all effects of the compilation of a unit.

    The functions of the user that inspect a program are called by its compilation only. Functions
    that partition its operations may call others, which no key has.
    """
    return not unit.lowered.has_inspections and not unit.lowered.partitioners


@dataclass(frozen=True)
class _Stores:
    """The local store, and the remote one if there is one."""

    cache: CacheSpec
    local: LocalStore
    remote: GuardedRemote | None

    @staticmethod
    def of(cache: CacheSpec) -> _Stores | None:
        local = local_store(cache)
        if local is None:
            return None
        return _Stores(cache, local, None if cache.remote is None else GuardedRemote(cache))

    @property
    def problems(self) -> list[str]:
        """The problems of the stores that no other process reports."""
        texts = list(self.local.problems)
        if self.remote is not None and self.cache.state is None and self.cache.remote is not None:
            warning = self.remote.failures.warning(self.cache.remote)
            texts += [] if warning is None else [warning]
        return texts

    def find(self, key: str) -> tuple[CompilationResult, ResultOrigin] | None:
        """Return the verified result of a key with its origin; a remote one is stored here too."""
        result = self.local.get(key)
        if result is not None:
            return result, ResultOrigin("local", key, None)
        content = None if self.remote is None else self.remote.get(key)
        if content is None or self.remote is None:
            return None
        try:
            result = decoded(content, key, self.local.trust)
        except OlympusError as error:
            self.remote.refuse(key, str(error))
            return None
        self.local.put(key, [content], "fetched")
        return result, ResultOrigin("remote", key, self.cache.remote)


def compiling(
    program: Program, *, use: Use = "read", runs: bool = False, has_store: bool = True
) -> Compiling:
    """Return the settings for a program, from its project and the environment.

    Without `has_store` no store is used.
    """
    cache = program.spec.cache or environment_cache()
    return Compiling(cache if has_store else CacheSpec(), use, runs)


def local_store(cache: CacheSpec) -> LocalStore | None:
    """Return the local store, with the trusted keys of the user's settings; None if it is off."""
    if cache.folder is None:
        return None
    return LocalStore(cache.folder, read_settings().trust, cache.is_default)


def _by_helper(
    program: Program, unit: Unit, on_stage: OnStage, on_begin: Callable[[], None]
) -> HelperResult | None:
    """Give a unit its compiled form from a helper; None if this process has to compile it."""
    if not has_helper(on_stage):
        return None
    on_stage(f"compile for {unit.label}")
    begin = time.perf_counter()
    spec = program.spec
    request = unit.lowered.compile_request(spec.compiler_options, optimize=spec.optimize)
    on_begin()
    helped = compiled_by_helper(request, on_stage)
    if helped is not None:
        if spec.trips:  # which the figures of the time depend on
            helped = helped._replace(inspected=None)
        files = helped.files
        unit.compiled = unit.lowered.read_compiled(files.hlo, files.executable, is_checked=True)
        unit.compile_seconds = time.perf_counter() - begin
    return helped


def with_present_lines(
    result: CompilationResult, lines: tuple[Line, ...], kind: str
) -> CompilationResult:
    """Return a result with the present source lines.

    `kind` is that of its backend: the executable for an accelerator has the lines of its
    compilation.

    Raises:
        ArtifactError: the result has another number of lines.
    """
    relocation = Relocation.of_lines(result.lines, lines)
    if not relocation.is_needed:
        return result
    executable = result.executable
    if kind == "cpu":
        executable = relocation.in_executable(executable)
    return replace(result, executable=executable, hlo=relocation.in_hlo(result.hlo), lines=lines)
