"""The inverse of outlining."""

from __future__ import annotations

import numpy as np

import olympus as ox
from olympus_core.blocks.inlining import without_blocks
from olympus_core.blocks.outline import blocks, outline
from olympus_core.ir.check import check
from olympus_core.ir.dce_cse import simplify
from olympus_core.transforms.evaluate import evaluate
from tests.blocks.networks import LOW, X, forward, params, step


def test_a_program_without_blocks_is_the_same_object() -> None:
    program = ox.jit(forward).trace(params(2), X).olympuspr
    assert without_blocks(program) is program


def test_the_blocks_are_inlined_and_the_values_are_the_same() -> None:
    ps = params(5)
    for function in (forward, step):
        program = simplify(ox.jit(function).trace(ps, X).olympuspr)
        outlined = outline(program, LOW)
        assert blocks(outlined)
        inlined = without_blocks(outlined)
        check(inlined)
        assert not blocks(inlined)
        arrays = ox.tree.leaves((ps, X))
        for got, want in zip(evaluate(inlined, arrays), evaluate(program, arrays), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_blocks_in_nested_programs_are_inlined() -> None:
    def scanned(ps: object, x: object) -> object:
        return ox.lax.scan(lambda x, _: (forward(ps, x), None), x, length=2)[0]

    program = simplify(ox.jit(scanned).trace(params(5), X).olympuspr)
    outlined = outline(program, LOW)
    assert blocks(outlined)
    inlined = without_blocks(outlined)
    check(inlined)
    assert not blocks(inlined)
    assert [e.primitive for e in inlined.eqns] == [e.primitive for e in program.eqns]
