"""The laws of raising, for every row of the primitives' table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import pytest

import olympus
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.lowering.whole_module import lower_module
from olympus_core.mlir import bindings as mlir
from olympus_core.raising.raising import raise_module
from olympus_core.raising.unraisable import UnraisableError
from tests.primitives.case import Case
from tests.primitives.cases import CASES
from tests.primitives.test_primitives import assert_agree
from tests.raising.test_raising import all_eqns, run

ENTRY = EntryAttributes("jit_f")
#: Rows whose program is for several devices, or refers to a function: it is not raised.
DEVICES = {"shard_map", "pvary", "sharding_constraint", "inspect_sharding", "composite"}
SINGLE = [pytest.param(case, id=case.id) for case in CASES if case.primitive not in DEVICES]
#: Rows whose first lowering has an unused result or constant, or reshapes a constant: raising
#: removes it.
SIMPLIFIED = {
    *("scan-unroll", "random_seed", "factored_solve", "factored_solve-batched"),
    *("tridiagonal_solve", "tridiagonal_solve-batched"),
}
#: Primitives that are lowered for the CPU alone.
ON_CPU = {"schur", "hessenberg", "tridiagonal"}
#: Operations of our lowering that no primitive recognizes: a library call, a decomposition for
#: GPUs, and a scatter with a program of the user.
OPAQUE = {"stablehlo.custom_call", "stablehlo.cholesky", "stablehlo.scatter"}


def blocks(operation: Any) -> Iterator[Any]:
    """Yield the blocks inside an operation."""
    for region in operation.regions:
        for block in region.blocks:
            yield block
            for inner in block.operations:
                yield from blocks(inner.operation)


def canonical(module: Any) -> str:
    """Return a module's text with each constant once in a block, before its first use.

    Two rules may emit the same constants in another order.
    """
    from jaxlib.mlir import passmanager

    module = mlir.without_locations(module)
    with mlir.context():
        passmanager.PassManager.parse("builtin.module(cse)").run(module.operation)
    for block in blocks(module.operation):
        operations = [view.operation for view in block.operations]
        constants = {x for x in operations if x.name == "stablehlo.constant"}
        for constant in constants:
            constant.move_before(operations[-1])
        placed = set[Any]()
        for operation in operations:
            if operation not in constants:
                for owner in _owners(operation):
                    if owner in constants and owner not in placed:
                        placed.add(owner)
                        owner.move_before(operation)
    return str(module.operation.get_asm())


def _owners(operation: Any) -> Iterator[Any]:
    """Yield the operations whose results an operation uses, also inside its regions."""
    yield from (x.owner for x in operation.operands)
    for block in blocks(operation):
        for inner in block.operations:
            yield from (x.owner for x in inner.operation.operands)


def with_platforms() -> list[Any]:
    """Return the parameters of a test: each row with each platform.

    By day, only the first row of a primitive is lowered for a GPU.
    """
    parameters, primitives = [], set()
    for case in CASES:
        if case.primitive not in DEVICES:
            marks = pytest.mark.night if case.primitive in primitives else ()
            parameters.append(pytest.param(case, "cpu", id=f"{case.id}-cpu"))
            if case.primitive not in ON_CPU:
                parameters.append(pytest.param(case, "cuda", id=f"{case.id}-cuda", marks=marks))
            primitives.add(case.primitive)
    return parameters


@pytest.mark.parametrize(("case", "platform"), with_platforms())
def test_lower_raise_lower_gives_the_same_module(case: Case, platform: str) -> None:
    traced = olympus.jit(lambda *a: case.call(olympus.lax, *a)).trace(*case.arrays(case.dtypes[0]))
    first = lower_module(traced.olympuspr, ENTRY, platform)
    program = raise_module(first)
    second = lower_module(program, ENTRY, platform)
    if case.id not in SIMPLIFIED:
        assert canonical(second) == canonical(first)
    third = lower_module(raise_module(second), ENTRY, platform)
    assert canonical(third) == canonical(second)
    opaque = {e.params["operation"] for e in all_eqns(program) if e.primitive.name == "opaque"}
    assert opaque <= OPAQUE


#: Operations that JAX's lowering of a row has and that no primitive recognizes.
APPROXIMATE = {"top_k-approx", "sort-approx-min"}
OPAQUE_OF_JAX = {"stablehlo.custom_call", "stablehlo.scatter", "stablehlo.select_and_scatter"}


@pytest.mark.parametrize("case", SINGLE)
def test_programs_of_jax_are_raised(case: Case) -> None:
    xs = case.arrays(case.dtypes[0])
    module = mlir.parsed(jax.jit(lambda *a: case.call(jax.lax, *a)).lower(*xs).as_text())
    if case.id in APPROXIMATE:  # a custom call that refers to a function
        with pytest.raises(UnraisableError, match="refers to"):
            raise_module(module)
        return
    program = raise_module(module)
    opaque = {e.params["operation"] for e in all_eqns(program) if e.primitive.name == "opaque"}
    assert opaque <= OPAQUE_OF_JAX
    assert lower_module(program, ENTRY).operation.verify()


@pytest.mark.night
@pytest.mark.parametrize("case", [x for x in SINGLE if x.id not in APPROXIMATE])
def test_programs_of_jax_compute_the_same(case: Case) -> None:
    for dtype in case.dtypes:
        xs = [jax.device_put(x) for x in case.arrays(dtype)]  # without 64 bits
        jitted = jax.jit(lambda *a: case.call(jax.lax, *a), keep_unused=True)
        program = raise_module(mlir.parsed(jitted.lower(*xs).as_text()))
        assert_agree(run(program, *xs), jax.tree.leaves(jitted(*xs)), case, dtype)
