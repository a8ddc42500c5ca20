"""The figures of a compiled target, with results sharded like the arguments that they replace."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import olympus
from olympus.errors import CompileError
from olympus.sharding import NamedSharding
from olympus.stages import array_trees as tree
from olympus_cli.frontends.program_source import ProgramSource
from olympus_cli.frontends.python import Traceable
from olympus_cli.program.stages import Program
from olympus_cli.reports.program_figures import fits_between
from olympus_cli.shard.candidates import Candidate, Path, arrays, placed_target
from olympus_cli.shard.result_pairs import results_like
from olympus_cli.spec.mesh import ShardingSpec
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.call import OnStage, call
from olympus_cli.workers.executor import Limits

#: The fields that are compared first, second and third, by the name of an order.
ORDERS = {
    "memory": ("peak", "collective_bytes", "seconds"),
    "collectives": ("collective_bytes", "peak", "seconds"),
    "time": ("seconds", "peak", "collective_bytes"),
}


@dataclass(frozen=True)
class TrialFigures:
    """The figures of one candidate on each device, in bytes and seconds, or an error.

    `spec` is the target as it was compiled, with the shardings of results that replace arguments.
    `workspace_bound` is an upper bound on the memory that kernels allocate in addition to `peak`.
    `at_least` is True if the trip count of a loop is unknown.  Such a loop counts as run once, and
    the bytes of collectives and the time are lower bounds.
    """

    peak: int | None = None
    workspace_bound: int = 0
    collective_bytes: int | None = None
    seconds: float | None = None
    fits: bool | None = None
    at_least: bool = False
    error: str | None = None
    spec: TargetSpec | None = None

    def key(self, by: str) -> tuple[float, ...]:
        """Return the sort key of the order `by`: the best candidate is first, None is last."""
        known = (getattr(self, name) for name in ORDERS[by])
        return (self.fits is False, *(math.inf if figure is None else figure for figure in known))


def default_order(trials: Sequence[TrialFigures]) -> str:
    """Return the default order: "time", or "memory" if a candidate does not fit its device.

    The memory of a CPU is not a limit.
    """
    return "memory" if any(trial.fits is False for trial in trials) else "time"


def parameters(program: ProgramSource) -> list[str]:
    """Return the parameters for the arguments of a target, the positional arguments first."""
    assert isinstance(program, Traceable)  # only a function has a mesh
    bound, spec = program.binding, program.spec
    by_id = {id(arg): name for name, arg in zip(bound.names, bound.args, strict=True)}
    return [*(by_id[id(arg)] for arg in spec.args), *spec.kwargs]


def try_out(spec: TargetSpec, pairs: Mapping[Path, Path], limits: Limits) -> TrialFigures:
    """Compile a target in a separate process with `limits`, and return its figures.

    `pairs` are the results that replace arguments, from `olympus_cli.shard.result_pairs`.
    """
    try:
        fields = call(
            _compiled,
            spec,
            dict(pairs),
            action="compiles",
            quiet=True,
            time_limit=limits.time,
            memory_limit=limits.memory,
        )
    except CompileError as error:
        return TrialFigures(error=str(error))
    chosen: dict[Path, ShardingSpec] = fields.pop("shardings")
    placed = placed_target(spec, Candidate(chosen), results_like(pairs, chosen))
    return TrialFigures(**fields, spec=placed)


def _compiled(on_stage: OnStage, spec: TargetSpec, pairs: Mapping[Path, Path]) -> dict[str, Any]:
    """Compile a target for its backend; return the fields of a `TrialFigures`, and its shardings.

    The compiler chooses the sharding of an argument that is replaced, and its result must have the
    same one.  If the compiler chose another for the result, the program is compiled again.
    """
    program = Program.of(spec, on_stage, until="compile")
    shardings = {path: shape.sharding for path, shape in arrays(spec) if shape.sharding is not None}
    if pairs:
        chosen, is_equal = _chosen(program, pairs)
        shardings = chosen | shardings
        if not is_equal:
            placed = placed_target(spec, Candidate(shardings), results_like(pairs, shardings))
            program = Program.of(placed, on_stage, until="compile")
    compiled = program.units[0].compiled
    memory, device = compiled.memory(), olympus.stages.device_model(compiled.target)
    fits = None
    if device is not None:
        is_planned = memory.allocated is not None
        least = memory.allocated if is_planned else memory.peak
        most = memory.allocated_bound if is_planned else memory.peak_bound
        fits = fits_between(least, most, device)
    collectives = compiled.collectives(trips=spec.trips)
    estimate = compiled.estimate(trips=spec.trips)
    return {
        "peak": memory.peak,
        "workspace_bound": memory.workspace_bound,
        "collective_bytes": sum(collective.bytes * collective.calls for collective in collectives),
        "seconds": estimate.seconds,
        "fits": fits,
        "at_least": bool(estimate.unknown),
        "shardings": shardings,
    }


def _chosen(program: Program, pairs: Mapping[Path, Path]) -> tuple[dict[Path, ShardingSpec], bool]:
    """Return the compiler's shardings of replaced arguments, and True if the results have them.

    Arrays with a sharding that does not follow the axes of the mesh are omitted.
    """
    spec, compiled = program.spec, program.units[0].compiled
    roots = [*range(len(spec.args)), *spec.kwargs]
    names = dict(zip(roots, parameters(program.source), strict=True))
    of_arguments = _by_name(compiled.arg_names, compiled.input_shardings, spec)
    of_results = _by_name(compiled.result_names, compiled.output_shardings, spec)
    chosen, is_equal = dict[Path, ShardingSpec](), True
    for result, argument in pairs.items():
        for path, _ in arrays(spec):
            if path[: len(argument)] == argument:
                inner = path[len(argument) :]
                sharding = of_arguments.get(names[path[0]] + _keys(inner))
                if sharding is not None:
                    chosen[path] = sharding
                    is_equal &= of_results.get("result" + _keys((*result, *inner))) == sharding
    return chosen, is_equal


def _keys(path: Path) -> str:
    return "".join(f"[{key!r}]" for key in path)


def _by_name(names: Sequence[str], shardings: Any, spec: TargetSpec) -> dict[str, ShardingSpec]:
    specs: dict[str, ShardingSpec] = {}
    for name, sharding in zip(names, tree.leaves(shardings), strict=True):
        if isinstance(sharding, NamedSharding):
            entries = [tuple(sharding.spec.axes(d)) for d in range(len(sharding.spec))]
            while entries and not entries[-1]:
                entries.pop()
            if {axis for entry in entries for axis in entry} <= {*spec.mesh}:
                specs[name] = tuple(entries)
    return specs
