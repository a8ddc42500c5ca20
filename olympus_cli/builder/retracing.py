"""Repeated traces of a changed program, to find functions that are not deterministic.

A function that draws from Python's `random`, reads the clock or counts its calls gives another
program on every trace. One that iterates over a set of strings gives another program in each
process, because the order of the set depends on the hash seed of the process. The target of such a
function is never up to date, and never equals its golden program.

Another trace in the same process finds the first kind, and a trace in fresh processes with other
hash seeds the second. A build traces again only if it compiles a program that differs from that of
the build before, and in fresh processes only if no source file changed. `olympus check` does so if
a golden program differs or is saved.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from contextlib import ExitStack, closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import olympus
from olympus.analysis import Change, SourceMap, compare, graph_of, read_module
from olympus.errors import OlympusError
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.changes import change_place, change_words
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.call import Isolated, OnStage, wait

_TRIES = 2  # hash seeds: a set of two strings has the same order with half of them
_TIME_LIMIT = 60.0  # seconds: an import may wait for a resource that this process has

_VARIES = "pass the value that varies as an argument, or make it constant"
_EVERY_TRACE = "the program differs on every trace"
_EVERY_PROCESS = "the program differs in each process"
_HASH_SEED = "the program depends on Python's hash seed, which differs in each process"
_REBUILT = "it is built every time"
_BY_CHANCE = "it equals its golden program only by chance"
_EFFECTS = {  # on a build, and on a golden program
    _EVERY_TRACE: (_REBUILT, "it never equals its golden program"),
    _EVERY_PROCESS: (_REBUILT, _BY_CHANCE),
    _HASH_SEED: (_REBUILT, _BY_CHANCE),
}
_REMEDIES = {
    _EVERY_TRACE: _VARIES,
    _EVERY_PROCESS: f"a module draws a value while it is imported, or a set has objects: {_VARIES}",
    _HASH_SEED: "iterate over sorted(...) where the program iterates over a set of strings",
}


@dataclass(frozen=True)
class Instability:
    """A difference between two traces of one program: its first place, and when it occurs.

    `place` is the "file:line" of the first change, empty if it is not known. `is_order` is True if
    only the order of independent operations differs.
    """

    when: str
    place: str
    words: str
    is_order: bool

    def statement(self, *, golden: bool) -> str:
        """Return the difference with its effect on a build, or on a golden program."""
        return f"{self.when}, so that {_EFFECTS[self.when][golden]}"

    @property
    def remedy(self) -> str:
        """The change to the program that makes it stable."""
        return _REMEDIES[self.when]


def unstable_warning(program: Program, label: str, *, golden: bool, elsewhere: bool) -> str | None:
    """Return a warning with the first operation that differs in another trace; None if none does.

    With `golden`, the warning is about a golden program, whose independent operations may have
    another order; otherwise about a build. `elsewhere` is that of `instability_of`.
    """
    instability = instability_of(program, label, elsewhere=elsewhere)
    if instability is None or (golden and instability.is_order):
        return None
    place = f"{instability.place}: " if instability.place else ""
    remedy = "" if instability.when == _EVERY_TRACE else f"; {instability.remedy}"
    return f"{place}{instability.statement(golden=golden)}: {instability.words}{remedy}"


def instability_of(program: Program, label: str, *, elsewhere: bool) -> Instability | None:
    """Return the difference between two traces for a backend; None if they are equal.

    With `elsewhere`, a program that is equal when traced again in this process is also traced in
    fresh processes with other hash seeds.
    """
    unit = next(unit for unit in program.units if unit.label == label)
    root = program.spec.root
    again = _traced_again(program, label)
    if again is not None and again.stablehlo != unit.stablehlo:
        other = again.lowered.as_text(debug_info=True)
        return _instability(_EVERY_TRACE, unit, other, root)
    if again is None or not elsewhere:
        return None
    seeds = [seed for seed in "123" if seed != os.environ.get("PYTHONHASHSEED")][:_TRIES]
    digest = _digest(unit.stablehlo)
    for seed, text in zip(seeds, _traced_with(seeds, program.spec, label, digest), strict=True):
        if text is not None:
            plain = _digest(str(read_module(text)))
            (same,) = _traced_with([seed], program.spec, label, plain)
            when = _HASH_SEED if same is None else _EVERY_PROCESS
            return _instability(when, unit, text, root)
    return None


def trace_in_worker(on_stage: OnStage, spec: TargetSpec, label: str, digest: str) -> str | None:
    """Return a backend's program as text with source lines; None if its digest is `digest`."""
    program = Program.of(spec, on_stage, until="lower", labels=[label])
    (unit,) = program.units
    if _digest(unit.stablehlo) == digest:
        return None
    return str(unit.lowered.as_text(debug_info=True))


def _traced_again(program: Program, label: str) -> Unit | None:
    """Return the program of a second trace, without its printed output; None if that fails."""
    olympus.clear_caches()  # else functions under `jit` are not traced again
    other = Program(program.source)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            other.trace()
            other.lower([label])
    except OlympusError:
        return None
    return other.units[0]


def _traced_with(
    seeds: Sequence[str], spec: TargetSpec, label: str, digest: str
) -> list[str | None]:
    """Return the result of `trace_in_worker` for each hash seed, in parallel; None if it fails."""
    with ExitStack() as stack:
        processes = []
        for seed in seeds:
            process = Isolated(
                *(trace_in_worker, spec, label, digest),
                action="traces again",
                quiet=True,
                time_limit=_TIME_LIMIT,
                environment={"PYTHONHASHSEED": seed},
            )
            processes.append(stack.enter_context(closing(process)))
        texts: list[str | None] = []
        for process in processes:
            while (ended := process.look()) is None:
                wait([process])
            texts.append(ended.data)
        return texts


def _instability(when: str, unit: Unit, other: str, root: Path) -> Instability:
    """Return the first difference between a unit and another trace's text with source lines."""
    changes = compare(graph_of(unit.lowered.module), graph_of(read_module(other))).changes
    if changes:
        first: Change = changes[0]
        return Instability(when, change_place(first, root), change_words(first), is_order=False)
    place = _first_moved(unit, str(read_module(other)), root)
    return Instability(when, place, "the order of its operations", is_order=True)


def _first_moved(unit: Unit, other: str, root: Path) -> str:
    """Return the "file:line" of the first operation at another place in the text `other`."""
    pairs = zip(unit.stablehlo.splitlines(), other.splitlines(), strict=False)
    number = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), 0)
    written = SourceMap.of(read_module(unit.stablehlo), root, texts=False).places
    places = SourceMap.of(unit.lowered.module, root, texts=False).places
    return next((str(b) for a, b in zip(written, places, strict=True) if a.line == number), "")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
