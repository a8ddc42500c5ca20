"""Primitives that are functions of others: bound as JAX's are, eager, compiled and transformed."""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.experimental.sparse.linalg
import numpy as np
import pytest

import olympus as ox

X, Y = np.asarray([0.3, 1.5, 2.5], np.float32), np.asarray([1.0, 0.2, 3.0], np.float32)
SIGNED = np.asarray([-0.0, np.nan, 1.0, -np.nan, 0.0], np.float32)
WORDS = np.asarray([2**30, -5, 7], np.int32)
MATRIX = np.asarray([[2.0, 0.5, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 1.5]], np.float32)
DATA, INDICES = np.asarray([2.0, 3.0, 4.0], np.float32), np.asarray([[2, 1], [0, 0], [1, 2]])
COLUMNS, POINTERS = np.asarray([0, 1, 2]), np.asarray([0, 1, 2, 3])
SPINFO = ("experimental.sparse.util", "SparseInfo", ((3, 3), False, False))
COOINFO = ("experimental.sparse.coo", "COOInfo", ((3, 3), False, False))
NUMBERS = (((1,), (0,)), ((), ()))
TOP_K = {
    "k": 2,
    "reduction_dimension": -1,
    "recall_target": 0.95,
    "reduction_input_size_override": -1,
    "aggregate_to_topk": True,
}
DENSE = {"nse": 4, "index_dtype": np.int32}
BATCHED = DENSE | {"n_batch": 0, "n_dense": 0}
INT32 = np.dtype("int32")


class Case(NamedTuple):
    """A primitive by the module and the name, its operands and parameters."""

    module: str
    name: str
    args: tuple[Any, ...]
    params: Any = MappingProxyType({})
    linear: bool = True  # JAX has a derivative


CASES = [
    Case("lax", "mulhi_p", (WORDS, WORDS[::-1].copy())),
    Case("lax", "stage_p", (X,)),
    *(Case("lax", f"{x}_p", (SIGNED, SIGNED[::-1].copy())) for x in ("eq_to", "le_to", "lt_to")),
    Case("lax", "lt_to_p", (WORDS, WORDS[::-1].copy())),
    Case("lax", "igamma_p", (X, Y)),
    Case("lax", "igammac_p", (X, Y)),
    Case("lax", "igamma_grad_a_p", (X, Y), linear=False),
    Case("lax", "bessel_i0e_p", (X,)),
    Case("lax", "regularized_incomplete_beta_p", (X, Y, Y / 4), linear=False),
    *(Case("lax", "approx_top_k_p", (X,), TOP_K | {"is_max_k": x}) for x in (True, False)),
    Case("lax", "approx_top_k_p", (np.arange(4000.0, dtype=np.float32),),
         TOP_K | {"is_max_k": True, "aggregate_to_topk": False}, False),
    Case("lax.linalg", "cholesky_update_p", (MATRIX, X), linear=False),
    Case("lax.linalg", "ormqr_p", (MATRIX, X, MATRIX), {"left": True, "transpose": False}, False),
    Case("lax.linalg", "symmetric_product_p", (MATRIX, MATRIX @ MATRIX.T),
         {"alpha": 2.0, "beta": 1.0}, False),
    Case("experimental.sparse", "bcoo_todense_p", (DATA, INDICES), {"spinfo": SPINFO}),
    Case("experimental.sparse", "bcoo_fromdense_p", (MATRIX,), BATCHED),
    Case("experimental.sparse", "bcoo_extract_p", (INDICES, MATRIX), {"assume_unique": True}),
    Case("experimental.sparse", "bcoo_transpose_p", (DATA, INDICES),
         {"permutation": (1, 0), "spinfo": SPINFO}),
    Case("experimental.sparse", "bcoo_sort_indices_p", (DATA, INDICES), {"spinfo": SPINFO}),
    Case("experimental.sparse", "bcoo_sum_duplicates_p", (DATA, INDICES),
         {"spinfo": SPINFO, "nse": 3}),
    Case("experimental.sparse", "bcoo_dot_general_p", (DATA, INDICES, MATRIX),
         {"dimension_numbers": NUMBERS, "lhs_spinfo": SPINFO, "preferred_element_type": None}),
    Case("experimental.sparse", "bcoo_dot_general_sampled_p", (MATRIX, MATRIX, INDICES),
         {"dimension_numbers": NUMBERS}),
    Case("experimental.sparse", "bcsr_todense_p", (DATA, COLUMNS, POINTERS), {"spinfo": SPINFO}),
    Case("experimental.sparse", "bcsr_fromdense_p", (MATRIX,), BATCHED),
    Case("experimental.sparse", "bcsr_extract_p", (COLUMNS, POINTERS, MATRIX)),
    Case("experimental.sparse", "bcsr_dot_general_p", (DATA, COLUMNS, POINTERS, MATRIX),
         {"dimension_numbers": NUMBERS, "lhs_spinfo": SPINFO, "preferred_element_type": None}),
    Case("experimental.sparse", "coo_todense_p", (DATA, COLUMNS, COLUMNS), {"spinfo": COOINFO}),
    Case("experimental.sparse", "coo_fromdense_p", (MATRIX,), DENSE),
    Case("experimental.sparse", "csr_todense_p", (DATA, COLUMNS, POINTERS), {"shape": (3, 3)}),
    Case("experimental.sparse", "csr_fromdense_p", (MATRIX,), DENSE | {"index_dtype": INT32}),
    *(Case("experimental.sparse", f"coo_{name}_p", (DATA, COLUMNS, COLUMNS, other),
           {"spinfo": COOINFO, "transpose": x})
      for name, other in (("matvec", X), ("matmat", MATRIX)) for x in (True, False)),
    *(Case("experimental.sparse", f"csr_{name}_p", (DATA, COLUMNS, POINTERS, other),
           {"shape": (3, 3), "transpose": x})
      for name, other in (("matvec", X), ("matmat", MATRIX)) for x in (True, False)),
    Case("experimental.sparse.linalg", "spsolve_p", (DATA, COLUMNS, POINTERS, X),
         {"tol": 1e-6, "reorder": 1}, False),
]  # fmt: skip
NAMES = [f"{i}-{case.name}" for i, case in enumerate(CASES)]


def of(package: str, case: Case) -> tuple[Any, dict[str, Any]]:
    """Return the primitive of either package, and the parameters in its types."""
    params = dict(case.params)
    for key, value in params.items():
        if value in (SPINFO, COOINFO):
            module, name, fields = value
            params[key] = getattr(importlib.import_module(f"{package}.{module}"), name)(*fields)
    return getattr(importlib.import_module(f"{package}.{case.module}"), case.name), params


def close(mine: Any, theirs: Any) -> None:
    """Check arrays of results in order; float0 is no tangent."""
    mine, theirs = jax.tree.leaves(mine), jax.tree.leaves(theirs)
    assert [x.dtype for x in mine] == [x.dtype for x in theirs]
    for x, y in zip(mine, theirs, strict=True):
        if x.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_composed_primitive_agrees_with_jax(case: Case) -> None:
    (mine, params), (theirs, their_params) = of("olympus", case), of("jax", case)
    assert (mine.name, mine.multiple_results) == (theirs.name, theirs.multiple_results)
    assert isinstance(mine, ox.extend.core.Primitive)

    def bound(*args: Any) -> Any:
        return mine.bind(*args, **params)

    want = theirs.bind(*case.args, **their_params)
    close(bound(*case.args), want)
    close(ox.jit(bound)(*case.args), want)
    program = ox.make_jaxpr(bound)(*case.args)
    assert [eqn.primitive for eqn in program.eqns] == [mine]
    batched = ox.vmap(bound)(*(np.stack([x, x]) for x in case.args))
    close(jax.tree.map(lambda x: x[1], batched), want)
    if not case.linear or case.args[0].dtype != np.float32 or case.name == "stage_p":
        return
    moving = [i for i, x in enumerate(case.args) if x.dtype == np.float32]

    def slope(package: Any, primitive: Any, given: dict[str, Any]) -> Any:
        def of_floats(*some: Any) -> Any:
            args = list(case.args)
            for i, x in zip(moving, some, strict=True):
                args[i] = x
            return [
                x
                for x in package.tree.leaves(primitive.bind(*args, **given))
                if x.dtype == np.float32
            ]

        floats = tuple(case.args[i] for i in moving)
        return package.jvp(of_floats, floats, tuple(np.ones_like(x) for x in floats))[1]

    close(slope(ox, mine, params), slope(jax, theirs, their_params))


def test_primitives_without_a_counterpart_of_the_installed_jax() -> None:
    primitives = importlib.import_module("olympus.extend.core.primitives")
    values = ox.numpy.asarray(X)
    assert np.allclose(primitives.log2_p.bind(values), np.log2(X))
    assert np.allclose(primitives.one_minus_square_p.bind(values), 1 - X * X)
    assert np.allclose(primitives.polynomial_p.bind(values, X, Y, unroll=None), X + Y * X)
    program = ox.make_jaxpr(lambda x: [x + 1.0])(X)
    assert np.allclose(primitives.closed_call_p.bind(values, call_jaxpr=program)[0], X + 1)
    (put,) = primitives.device_put_p.bind(
        values, devices=(ox.devices()[0],), srcs=(None,), copy_semantics=(None,)
    )
    assert put.devices() == {ox.devices()[0]}
    assert ox.lax.linear_solve_p.name == "custom_linear_solve"
    tree = ox.tree.structure(ox.experimental.sparse.BCOO.fromdense(MATRIX))
    leaves = ox.tree.leaves(ox.experimental.sparse.BCOO.fromdense(MATRIX))
    assert np.allclose(ox.experimental.sparse.todense_p.bind(*leaves, tree=tree), MATRIX)


def test_product_of_two_sparse_arrays_as_a_primitive() -> None:
    sparse = ox.experimental.sparse
    info = sparse.util.SparseInfo((3, 3))
    parts = sparse.bcoo_spdot_general_p.bind(
        *(DATA, INDICES, DATA, INDICES),
        dimension_numbers=NUMBERS,
        lhs_spinfo=info,
        rhs_spinfo=info,
        preferred_element_type=None,
    )
    dense = np.asarray(sparse.BCOO((DATA, INDICES), shape=(3, 3)).todense())
    assert np.allclose(sparse.BCOO(parts, shape=(3, 3)).todense(), dense @ dense)


def test_transpose_of_a_composed_primitive() -> None:
    def total(data: Any) -> Any:
        case = next(x for x in CASES if x.name == "bcoo_todense_p")
        primitive, params = of("olympus", case)
        return primitive.bind(data, INDICES, **params)

    pulled = ox.linear_transpose(total, X)(MATRIX)[0]
    assert np.allclose(pulled, MATRIX[INDICES[:, 0], INDICES[:, 1]])


def test_rng_uniform_draws_in_its_bounds_and_is_checked_as_in_jax() -> None:
    lax = ox.lax
    for draw in (lax.rng_uniform, ox.jit(lax.rng_uniform, static_argnums=2)):
        drawn = np.asarray(draw(np.float32(2.0), np.float32(3.0), (1000,)))
        assert drawn.dtype == np.float32 and 2 <= drawn.min() < 2.1 and 2.9 < drawn.max() <= 3
    assert set(np.asarray(lax.rng_uniform(3, 5, (100,)))) == {3, 4}
    for package in (ox, jax):
        with pytest.raises(ValueError, match="must have identical dtypes"):
            package.lax.rng_uniform(0.0, 1, (2,))
        with pytest.raises(ValueError, match="must be scalars"):
            package.lax.rng_uniform(X, 1.0, (2,))
        with pytest.raises(NotImplementedError, match="Batching rule for 'rng_uniform'"):
            package.vmap(lambda a, p=package: p.lax.rng_uniform(a, 1.0, (2,)))(X)


def test_dce_sink_keeps_the_equations_of_its_operand() -> None:
    program = ox.make_jaxpr(lambda x: (ox.lax.dce_sink({"a": x * 2}), x)[1])(X)
    assert [eqn.primitive.name for eqn in program.eqns] == ["mul", "dce_sink"]
    assert np.allclose(ox.jit(lambda x: (ox.lax.dce_sink(x), x + 1)[1])(X), X + 1)
    with pytest.raises(NotImplementedError, match="prevent_mlir_dce=True is not lowered"):
        ox.jit(lambda x: (ox.lax.dce_sink(x, prevent_mlir_dce=True), x)[1])(X)
