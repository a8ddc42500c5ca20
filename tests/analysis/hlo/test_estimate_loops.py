"""How often the kernels of loops and branches are counted in estimates of time."""

from __future__ import annotations

from pathlib import Path

import pytest

import olympus.numpy as np
from olympus import lax
from olympus_core.base.errors import UsageError
from tests.analysis.hlo.estimated import compiled, kernels, shape, total

HERE = str(Path(__file__))


def test_a_loop_counts_as_often_as_it_runs():
    def scanned(x, w):
        return lax.scan(lambda c, _: (np.tanh(c @ w), None), x, None, length=100)[0]

    made = compiled(scanned, shape(64, 64), shape(64, 64))
    (product,) = [k for k in kernels(made) if k.flops >= 2 * 64**3]
    assert product.calls == 100
    assert total(made, "flops") >= 52_428_800
    assert made.estimate().unknown == ()


def test_nested_loops_multiply():
    def outer(x):
        return lax.fori_loop(0, 5, lambda i, y: lax.fori_loop(0, 7, lambda j, z: z @ z, y), x)

    made = compiled(outer, shape(32, 32))
    assert sum(k.calls for k in kernels(made) if k.flops >= 2 * 32**3) == 35


def test_a_loop_that_depends_on_data_is_named():
    def halved(x):
        return lax.while_loop(lambda y: y.sum() > 1, lambda y: y / 2, x)

    made = compiled(halved, shape(1024)).estimate()
    (told,) = made.unknown
    assert "depends on data, or is not known: it is counted as run once" in told
    assert f"the loop at {HERE}:" in told


def calls_of_products(made, size):
    return sum(k.calls for k in made.kernels if k.flops >= 2 * size**3)


def test_a_loop_that_only_the_cost_knows_counts_as_often():
    def grown(x):
        first = np.float32(0), x
        return lax.while_loop(lambda c: c[0] < 300.5, lambda c: (c[0] + 1, c[1] @ c[1]), first)[1]

    made = compiled(grown, shape(32, 32))
    loops = [
        i
        for part in made.executable.hlo_module().computations.values()
        for i in part.instructions.values()
        if i.opcode == "while"
    ]
    assert [loop.trip_count for loop in loops] == [None]  # else this tests nothing
    found = made.estimate()
    assert calls_of_products(found, 32) == 301
    assert found.unknown == ()


def test_the_caller_says_how_often_a_loop_runs():
    def solved(x):
        return lax.while_loop(lambda y: y.sum() > 1, lambda y: y @ y, x)

    made = compiled(solved, shape(32, 32))
    (line,) = [line for line, count in made.cost().loops.items() if count is None]
    once, often = made.estimate(), made.estimate(trips={Path(line).name: 40})
    assert len(once.unknown) == 1
    assert (calls_of_products(once, 32), calls_of_products(often, 32)) == (1, 40)
    assert often.unknown == ()
    assert calls_of_products(made.estimate(trips={line: 0}), 32) == 0
    for trips in ({"nowhere.py:1": 3}, {line: -1}):
        with pytest.raises(UsageError):
            made.estimate(trips=trips)


def test_loops_of_one_line_with_several_counts_are_not_known():
    def halved(x, to):
        return lax.while_loop(lambda c: c[0] < to, lambda c: (c[0] + 1, c[1] @ c[1]), x)

    def both(x):
        first = np.float32(0), x
        return [halved(first, to)[1] for to in (200.5, 300.5)]

    made = compiled(both, shape(32, 32))
    assert list(made.cost().loops.values()) == [None]
    assert len(made.estimate().unknown) == 1
    assert made.cost().unknown == ()


def test_a_loop_that_never_runs_has_no_kernels():
    def never(x):
        return lax.fori_loop(0, 0, lambda i, y: y @ y, x)

    made = compiled(never, shape(256, 256))
    assert total(made, "flops") == 0
    assert all(k.calls > 0 for k in made.estimate().kernels)


def test_of_branches_the_dearest():
    def branch(i, x):
        return lax.switch(i, [lambda x: x + 1, lambda x: x @ x, lambda x: x * 2], x)

    made = compiled(branch, shape(dtype="int32"), shape(256, 256))
    assert total(made, "flops") == pytest.approx(2 * 256**3, rel=0.01)
