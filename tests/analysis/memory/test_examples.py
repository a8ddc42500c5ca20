"""The memory of every example program, on the CPU and for a GPU that is not attached."""

from __future__ import annotations

import pytest

from benchmarks.programs import EXAMPLES
from olympus_cli.frontends.python import load_target
from olympus_cli.spec.project import load_project
from olympus_core import xla
from tests.analysis.memory.test_memory import TARGETS, check

SPECS = {
    f"{example.name}:{spec.name}": spec
    for example in sorted(path.parent for path in EXAMPLES.glob("*/olympus.toml"))
    for spec in load_project(example).targets.values()
}
#: XLA places a few bytes otherwise than the rules of reuse say
MOST = 1.005


#: The examples that are compiled for a GPU by day; the others take seconds each.
SMALL = ("gp", "kalman", "lstm", "mlp")


def by_day(name: str, backend: str) -> bool:
    return backend == "cpu" or name.partition(":")[0] in SMALL


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
def test_an_example(name: str, target: xla.Target) -> None:
    made = load_target(SPECS[name]).trace().lower(target).compile()
    memory, told = made.memory(), made.memory_analysis()
    check(memory)
    named = {b.name for b in memory.largest(10**6) if b.kind == "argument"}
    assert named <= set(made.arg_names)
    made_by_users = [b for b in memory.largest(10**6) if b.kind == "temporary"]
    assert all(b.line for b in made_by_users)
    xlas = told.peak_memory_in_bytes
    if target.backend == "gpu" and xlas is not None:
        # XLA counts the results from the first step on
        assert xlas - memory.results <= memory.peak <= MOST * xlas
