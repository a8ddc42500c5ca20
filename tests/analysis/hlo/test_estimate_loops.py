"""The number of calls of kernels of loops and branches in estimates of time."""

from __future__ import annotations

from pathlib import Path

import pytest

import olympus.numpy as np
from olympus import lax
from olympus_core.base.errors import UsageError
from tests.analysis.hlo.estimated import compiled, kernels, shape, total

HERE = str(Path(__file__))


def test_a_kernel_of_a_loop_counts_once_per_iteration():
    def scanned(x, w):
        return lax.scan(lambda c, _: (np.tanh(c @ w), None), x, None, length=100)[0]

    program = compiled(scanned, shape(64, 64), shape(64, 64))
    (product,) = [k for k in kernels(program) if k.flops >= 2 * 64**3]
    assert product.calls == 100
    assert total(program, "flops") >= 52_428_800
    assert program.estimate().unknown == ()


def test_nested_loops_multiply():
    def outer(x):
        return lax.fori_loop(0, 5, lambda i, y: lax.fori_loop(0, 7, lambda j, z: z @ z, y), x)

    program = compiled(outer, shape(32, 32))
    assert sum(k.calls for k in kernels(program) if k.flops >= 2 * 32**3) == 35


def test_a_loop_that_depends_on_data_is_named():
    def halved(x):
        return lax.while_loop(lambda y: y.sum() > 1, lambda y: y / 2, x)

    times = compiled(halved, shape(1024)).estimate()
    (unknown,) = times.unknown
    assert "depends on data, or is not known: it is counted as run once" in unknown
    assert f"the loop at {HERE}:" in unknown


def calls_of_products(times, size):
    return sum(k.calls for k in times.kernels if k.flops >= 2 * size**3)


def test_a_count_that_only_the_cost_has_is_used():
    def grown(x):
        first = np.float32(0), x
        return lax.while_loop(lambda c: c[0] < 300.5, lambda c: (c[0] + 1, c[1] @ c[1]), first)[1]

    program = compiled(grown, shape(32, 32))
    loops = [
        i
        for part in program.executable.hlo_module().computations.values()
        for i in part.instructions.values()
        if i.opcode == "while"
    ]
    assert [loop.trip_count for loop in loops] == [None]  # otherwise this tests nothing
    times = program.estimate()
    assert calls_of_products(times, 32) == 301
    assert times.unknown == ()


def test_trips_give_the_count_of_a_loop():
    def solved(x):
        return lax.while_loop(lambda y: y.sum() > 1, lambda y: y @ y, x)

    program = compiled(solved, shape(32, 32))
    (line,) = [line for line, count in program.cost().loops.items() if count is None]
    once, often = program.estimate(), program.estimate(trips={Path(line).name: 40})
    assert len(once.unknown) == 1
    assert (calls_of_products(once, 32), calls_of_products(often, 32)) == (1, 40)
    assert often.unknown == ()
    assert calls_of_products(program.estimate(trips={line: 0}), 32) == 0
    for trips in ({"nowhere.py:1": 3}, {line: -1}):
        with pytest.raises(UsageError):
            program.estimate(trips=trips)


def test_loops_of_one_line_with_several_counts_are_not_known():
    def halved(x, to):
        return lax.while_loop(lambda c: c[0] < to, lambda c: (c[0] + 1, c[1] @ c[1]), x)

    def two_loops(x):
        first = np.float32(0), x
        return [halved(first, to)[1] for to in (200.5, 300.5)]

    program = compiled(two_loops, shape(32, 32))
    assert list(program.cost().loops.values()) == [None]
    assert len(program.estimate().unknown) == 1
    assert program.cost().unknown == ()


def test_a_loop_without_iterations_has_no_kernels():
    def never(x):
        return lax.fori_loop(0, 0, lambda i, y: y @ y, x)

    program = compiled(never, shape(256, 256))
    assert total(program, "flops") == 0
    assert all(k.calls > 0 for k in program.estimate().kernels)


def test_the_most_expensive_branch_counts():
    def branch(i, x):
        return lax.switch(i, [lambda x: x + 1, lambda x: x @ x, lambda x: x * 2], x)

    program = compiled(branch, shape(dtype="int32"), shape(256, 256))
    assert total(program, "flops") == pytest.approx(2 * 256**3, rel=0.01)
