"""Library functions traced with symbolic shapes and refined, compared to static programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olympus import ShapeDtypeStruct, jit
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.dimensions.solving import evaluated
from olympus_core.mlir import bindings as mlir
from olympus_core.stages.stages import Lowered
from olympus_core.xla.runtime.program_formats import refined
from tests.lowering import (
    symbolic_arithmetic,
    symbolic_indexing,
    symbolic_networks,
    symbolic_science,
    symbolic_shapes,
    symbolic_transforms,
)
from tests.lowering.symbolic_case import Case

CASES = [
    *symbolic_arithmetic.CASES,
    *symbolic_shapes.CASES,
    *symbolic_indexing.CASES,
    *symbolic_networks.CASES,
    *symbolic_science.CASES,
    *symbolic_transforms.CASES,
]
#: the cases that each run of the tests has; the others are run by night
DAILY = frozenset(
    (
        *("mean", "arange", "reshape", "concat", "slice", "slice4", "idx-1", "gather", "take"),
        *("at_add", "dot", "einsum3", "cumsum", "sort", "argmax", "onehot", "softmax", "split"),
        *("roll", "grad_mm", "grad_gather", "grad_roll", "vmap_dslice", "scan", "fori_b", "cond"),
        *("grad_scan", "nested_jit", "conv_same_sp", "maxpool", "cholesky", "random_normal"),
        *("dpa", "grad_embed", "irfft_b", "grad_fft", "searchsorted_b", "resize_b", "delete_some"),
        *("associative_scan", "grad_associative", "grad_cumprod"),
    )
)  # fmt: skip
SIZES = ((1, 2), (6, 3))


def _argument(aval: ShapedArray, sizes: dict[str, Any], draw: np.random.Generator) -> Any:
    shape = tuple(int(evaluated(n, sizes)) for n in aval.shape)
    if aval.dtype.kind == "i":
        return draw.integers(0, 3, shape).astype(aval.dtype)
    return draw.normal(size=shape).astype(aval.dtype)


def _check(case: Case, sizes: tuple[int, int]) -> None:
    traced = jit(case.function).trace(*[ShapeDtypeStruct(s, d) for s, d in case.specs])
    lowered, avals = traced.lower(), traced.signature.in_avals
    values: dict[str, Any] = dict(zip("bc", sizes, strict=True))
    draw = np.random.default_rng(0)
    args = [_argument(a, values, draw) for a in avals]
    static = jit(case.function).lower(*args)
    types = {i: shaped(x.shape, x.dtype) for i, x in enumerate(args) if avals[i].is_symbolic}
    module = refined(mlir.copied_module(lowered.module), types, case.name)
    results = Lowered(static.signature, module, static.target).compile()(*args)
    expected = static.compile()(*args)
    for x, y in zip(tree.leaves(results), tree.leaves(expected), strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("case", [c for c in CASES if c.name in DAILY], ids=lambda c: c.name)
def test_a_symbolic_program_equals_the_static_one(case: Case, sizes: tuple[int, int]) -> None:
    _check(case, sizes)


@pytest.mark.night
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in DAILY], ids=lambda c: c.name)
def test_other_symbolic_programs_equal_the_static_ones(case: Case) -> None:
    for sizes in SIZES:
        _check(case, sizes)
