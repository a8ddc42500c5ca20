"""The checker finds what a pass could break."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
from olympus_core.base.avals import shaped
from olympus_core.base.errors import InternalError
from olympus_core.base.source import Source
from olympus_core.ir.check import check
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr, Var
from olympus_core.ir.primitive import op

F32 = shaped((), np.dtype("float32"))
I32 = shaped((), np.dtype("int32"))
ADD, SCAN = op.find("add"), op.find("scan")


def eqn(inputs, outputs, primitive=ADD, **params):
    return Eqn(primitive, tuple(inputs), tuple(outputs), params, Source(None, 0, ""))


def test_what_staging_makes_is_well_formed():
    def f(x):
        c, ys = olympus.lax.scan(lambda c, y: (c + y, c), 0.0, x)
        return olympus.grad(lambda v: (v * ys).sum())(x) + c

    check(olympus.jit(f).trace(np.ones(3, np.float32)).olympuspr)


def broken():
    a, b, c = Var(F32), Var(F32), Var(F32)
    i = Var(I32)
    wide = Literal(1.0, shaped((3,), np.dtype("float32")))
    nested = Olympuspr((a,), (), (a,), (b,), (np.float32(1),))
    scan = {
        "length": 1,
        "num_carry": 1,
        "num_consts": 0,
        "olympuspr": nested,
        "reverse": False,
        "unroll": 1,
    }
    return [
        (Olympuspr((a,), (eqn((a, b), (c,)),), (c,)), "not bound yet"),
        (Olympuspr((a,), (), (b,)), "the results read"),
        (Olympuspr((a, a), (), (a,)), "bound twice"),
        (Olympuspr((a,), (eqn((a, a), (a,)),), (a,)), "bound twice"),
        (Olympuspr((a,), (eqn((a, a), (i,)),), (i,)), "is typed"),
        (Olympuspr((a,), (eqn((a, wide), (c,)),), (c,)), "not a scalar"),
        (Olympuspr((a,), (), (a,), (b,), ()), "differ in number"),
        (Olympuspr((b,), (eqn((b,), (c,), SCAN, **scan),), (c,)), "closes over constants"),
    ]


@pytest.mark.parametrize(("program", "words"), broken())
def test_a_broken_program_is_a_defect_of_ours(program, words):
    with pytest.raises(InternalError, match=words):
        check(program)
