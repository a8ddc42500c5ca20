"""The memory of every example program, on the CPU and for a GPU that is not attached."""

from __future__ import annotations

import pytest

from benchmarks.programs import EXAMPLES
from olympus_cli.frontends.loading import load_target
from olympus_cli.spec.project import load_project
from olympus_core import xla
from tests.analysis.memory.test_memory import TARGETS, check

SPECS = {
    f"{example.name}:{spec.name}": spec
    for example in sorted(path.parent for path in EXAMPLES.glob("*/olympus.toml"))
    for spec in load_project(example).targets.values()
    if {backend.backend for backend in spec.backends} != {"tpu"}  # meshes of many chips
}
#: The peaks of XLA and of ours may differ by this factor, because XLA places a few bytes otherwise.
MOST = 1.005


#: The programs that are compiled for a GPU by day; each of the others takes seconds.
SMALL = ("gp:predict", "kalman:smooth@steps=20", "lstm:lstm@steps=10", "mlp:mlp@batch=1")


def by_day(name: str, backend: str) -> bool:
    return backend == "cpu" or name in SMALL


@pytest.mark.parametrize(
    ("name", "target"),
    [
        pytest.param(
            name,
            *target.values,
            id=f"{name}-{target.id}",
            marks=[*target.marks, *[pytest.mark.night] * (not by_day(name, str(target.id)))],
        )
        for name in SPECS
        for target in TARGETS
    ],
)
def test_the_memory_of_an_example_agrees_with_xla(name: str, target: xla.Target) -> None:
    program = load_target(SPECS[name]).trace().lower(target).compile()
    memory, xla_analysis = program.memory(), program.memory_analysis()
    check(memory)
    named = {b.name for b in memory.largest(10**6) if b.kind == "argument"}
    assert named <= set(program.arg_names)
    temporaries = [b for b in memory.largest(10**6) if b.kind == "temporary"]
    assert all(b.line for b in temporaries)
    xla_peak = xla_analysis.peak_memory_in_bytes
    if target.backend == "gpu" and xla_peak is not None:
        # XLA counts the results from the first step
        assert (xla_peak - memory.results) / MOST <= memory.peak <= MOST * xla_peak
