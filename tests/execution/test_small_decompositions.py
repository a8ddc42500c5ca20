"""Functions of StableHLO in place of calls of LAPACK on small matrices, in compiled loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import olympus as ox
import olympus.interop.jax
from olympus_core.base.avals import shaped
from olympus_core.execution.compiled_loops import compile_loops
from olympus_core.execution.small_decompositions import Decomposition, decomposition_of
from olympus_core.lowering.whole_module import lower_function
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.linalg.portable import small
from tests.execution.test_compiled_loops import MARK

Values = np.ndarray[Any, Any]
INT32 = np.dtype("int32")


def matrices(*shape: int, dtype: str = "float32", seed: int = 0) -> Values:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def definite(*batch: int, rows: int, dtype: str = "float32") -> Values:
    a = matrices(*batch, rows, rows, dtype=dtype)
    return a @ np.swapaxes(a, -1, -2) + np.eye(rows, dtype=dtype)


def computed(fun: Callable[..., Any], operands: list[Values], *results: Any) -> list[Values]:
    """Return the results of a function on primitives, by the reference interpreter."""
    avals = tuple(shaped(x.shape, x.dtype) for x in operands)
    outs = tuple(shaped(tuple(shape), np.dtype(dtype)) for shape, dtype in results)
    text = str(lower_function(fun, avals, outs)).replace("func.func private", "func.func")
    return mlir.evaluate_module(mlir.parsed(text), operands)


def tolerance(x: Values) -> float:
    return 200 * float(np.finfo(x.dtype).eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_cholesky_factors(uplo: str, rows: int, batch: tuple[int, ...], dtype: str) -> None:
    a = definite(*batch, rows=rows, dtype=dtype)
    other = np.triu if uplo == "L" else np.tril
    a += other(np.ones((rows, rows), dtype), 1 if uplo == "L" else -1)  # not read
    factor, info = computed(
        lambda x: small.potrf(x, uplo=uplo), [a], (a.shape, dtype), (batch, INT32)
    )
    for each, whole in zip(factor.reshape(-1, rows, rows), a.reshape(-1, rows, rows), strict=True):
        expected = scipy.linalg.cholesky(whole, lower=uplo == "L")
        got = np.tril(each) if uplo == "L" else np.triu(each)
        np.testing.assert_allclose(got, expected, rtol=tolerance(a), atol=tolerance(a))
        k = 1 if uplo == "L" else -1
        np.testing.assert_array_equal(other(each, k), other(whole, k))
    np.testing.assert_array_equal(info, np.zeros(batch))


@pytest.mark.parametrize(
    ("diagonal", "info"),
    [([1, 1, 1], 0), ([1, -1, 1], 2), ([0, 1, 1], 1), ([1, 1, np.nan], 0), ([-1, -1, 1], 1)],
)
def test_a_cholesky_factor_reports_the_first_bad_pivot(diagonal: list[float], info: int) -> None:
    a = np.diag(diagonal).astype("float32")
    results = computed(lambda x: small.potrf(x, uplo="L"), [a], (a.shape, a.dtype), ((), INT32))
    assert int(results[1]) == info == scipy.linalg.lapack.spotrf(a, lower=1)[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (7, 7), (5, 3), (3, 5)])
def test_lu_factors(shape: tuple[int, int], batch: tuple[int, ...], dtype: str) -> None:
    a, k = matrices(*batch, *shape, dtype=dtype), min(shape)
    factors, pivots, info = computed(
        small.getrf, [a], (a.shape, dtype), ((*batch, k), INT32), (batch, INT32)
    )
    parts = [x.reshape(-1, *x.shape[len(batch) :]) for x in (a, factors, pivots)]
    for matrix, got, swaps in zip(*parts, strict=True):
        getrf = scipy.linalg.lapack.sgetrf if dtype == "float32" else scipy.linalg.lapack.dgetrf
        expected, expected_swaps, _ = getrf(matrix)
        np.testing.assert_array_equal(swaps - 1, expected_swaps)
        np.testing.assert_allclose(got, expected, rtol=tolerance(a), atol=tolerance(a))
    np.testing.assert_array_equal(info, np.zeros(batch))


def test_lu_of_a_singular_matrix_reports_the_zero_pivot() -> None:
    a = np.array([[0, 1, 2], [0, 3, 4], [0, 0, 1]], "float32")
    factors, pivots, info = computed(
        small.getrf, [a], (a.shape, a.dtype), ((3,), INT32), ((), INT32)
    )
    expected, expected_pivots, expected_info = scipy.linalg.lapack.sgetrf(a)
    assert int(info) == expected_info == 1
    np.testing.assert_array_equal(pivots - 1, expected_pivots)
    np.testing.assert_allclose(factors, expected, atol=1e-6)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("diag", ["N", "U"])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("side", ["L", "R"])
def test_triangular_solutions(
    side: str, uplo: str, trans: str, diag: str, batch: tuple[int, ...]
) -> None:
    a = matrices(*batch, 4, 4) + 4 * np.eye(4, dtype="float32")
    b = matrices(*batch, *((4, 3) if side == "L" else (3, 4)), seed=1)
    options = {"side": side, "uplo": uplo, "trans_x": trans, "diag": diag}
    (x,) = computed(lambda a, b: small.trsm(a, b, **options), [a, b], (b.shape, b.dtype))
    triangle = np.tril(a) if uplo == "L" else np.triu(a)
    if diag == "U":
        triangle = triangle * (1 - np.eye(4)) + np.eye(4)
    if trans != "N":
        triangle = np.swapaxes(triangle, -1, -2)
    product = triangle @ x if side == "L" else x @ triangle
    np.testing.assert_allclose(product, b, rtol=1e-4, atol=1e-4)


def scan(step: Callable[..., Any], rows: int, *batch: int) -> tuple[Callable[..., Any], Any, Any]:
    """Return a program of JAX with a loop, and its arguments: a matrix and a vector."""

    def program(matrix: Any, vector: Any) -> Any:
        return jax.lax.scan(lambda c, _: (step(matrix, c), c), vector, None, length=20)

    return program, definite(*batch, rows=rows), np.ones((*batch, rows), "float32")


def shifted(matrix: Any, vector: Any) -> Any:
    return matrix + 0.01 * vector[..., None] * jnp.eye(vector.shape[-1])


def solved(matrix: Any, vector: Any) -> Any:
    return 0.5 * jnp.linalg.solve(shifted(matrix, vector), vector)


def inverted(matrix: Any, vector: Any) -> Any:
    return 0.5 * jnp.linalg.inv(shifted(matrix, vector)) @ vector


def solved_by_cholesky(matrix: Any, vector: Any) -> Any:
    factor = jax.scipy.linalg.cho_factor(shifted(matrix, vector**2))
    return 0.5 * jax.scipy.linalg.cho_solve(factor, vector)


def factorized(matrix: Any, vector: Any) -> Any:
    return 0.1 * jnp.linalg.cholesky(shifted(matrix, vector**2)) @ vector


def determinant(matrix: Any, vector: Any) -> Any:
    return 0.5 * vector + 0.01 * jnp.linalg.slogdet(shifted(matrix, vector))[1]


def twice_solved(matrix: Any, vector: Any) -> Any:
    return solved(matrix, solved(matrix, vector))


def four_times_solved(matrix: Any, vector: Any) -> Any:
    return twice_solved(matrix, twice_solved(matrix, vector))


def solved_by_one_factor(matrix: Any, vector: Any) -> Any:
    factor = jax.scipy.linalg.cho_factor(matrix)
    return 0.5 * jax.scipy.linalg.cho_solve(factor, vector)


def calls_of_lapack(lowered: Any) -> int:
    return str(lowered.as_text()).count("@lapack_")


@pytest.mark.parametrize(
    ("step", "rows", "batch"),
    [
        (solved, 1, ()),
        (solved, 2, ()),
        (solved, 7, ()),
        (inverted, 4, ()),
        (solved_by_cholesky, 3, ()),
        (solved_by_cholesky, 7, ()),
        (factorized, 5, ()),
        (factorized, 2, (3,)),
        (determinant, 3, ()),
        (solved_by_cholesky, 3, (5,)),
    ],
)
def test_a_loop_with_small_decompositions_is_one_function(
    step: Callable[..., Any], rows: int, batch: tuple[int, ...]
) -> None:
    each = step
    for _ in batch:
        each = jax.vmap(each)
    program, *args = scan(each, rows, *batch)
    theirs, ours = jax.jit(program), olympus.interop.jax.jit(program)
    lowered = ours.lower(*args)
    assert (lowered.as_text().count(MARK), calls_of_lapack(lowered)) == (1, 0)
    for x, y in zip(jax.tree.leaves(ours(*args)), jax.tree.leaves(theirs(*args)), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("step", "rows"),
    [
        (solved, 8),
        (factorized, 7),  # LAPACK is faster
        (four_times_solved, 4),  # it would compile longer
        (solved_by_one_factor, 4),  # XLA computes the factor before the loop
    ],
)
def test_other_loops_call_lapack(step: Callable[..., Any], rows: int) -> None:
    program, *args = scan(step, rows)
    lowered = olympus.interop.jax.jit(program).lower(*args)
    assert lowered.as_text().count(MARK) == 0
    assert calls_of_lapack(lowered) == calls_of_lapack(jax.jit(program).lower(*args)) > 0


def test_a_function_that_is_also_called_outside_of_the_loop_stays() -> None:
    solve = jax.jit(jnp.linalg.solve)

    def program(matrix: Any, vector: Any) -> Any:
        step = lambda c, _: (0.5 * solve(matrix + jnp.diag(c), c), None)  # noqa: E731
        return solve(matrix, jax.lax.scan(step, vector, None, length=9)[0])

    args = definite(rows=3), np.ones(3, "float32")
    module = jax.jit(program).lower(*args).compiler_ir()
    before = str(module).count("@lapack_")
    with module.context:
        assert compile_loops(module) == 1
    assert module.operation.verify()
    assert str(module).count("@lapack_") == before
    ours = olympus.interop.jax.jit(program)(*args)
    np.testing.assert_allclose(ours, jax.jit(program)(*args), rtol=1e-5)


def test_functions_that_only_such_loops_call_are_removed() -> None:
    solve = jax.jit(jnp.linalg.solve)
    half = jax.jit(lambda matrix, c: 0.5 * solve(matrix + jnp.diag(c), c))

    def program(matrix: Any, vector: Any) -> Any:
        for step in (solve, half):  # the second calls the first
            body = lambda c, _, step=step: (step(matrix + jnp.diag(c), c), None)  # noqa: E731
            vector = jax.lax.scan(body, vector, None, length=9)[0]
        return vector

    args = definite(rows=3), np.ones(3, "float32")
    lowered = olympus.interop.jax.jit(program).lower(*args)
    assert (lowered.as_text().count(MARK), calls_of_lapack(lowered)) == (2, 0)
    ours = lowered.compile()(*args)
    np.testing.assert_allclose(ours, jax.jit(program)(*args), rtol=1e-5)


@pytest.mark.parametrize("is_first", [False, True])
def test_a_function_with_a_loop_is_called_outside_and_in_a_loop(is_first: bool) -> None:
    @jax.jit
    def inner(matrix: Any, vector: Any) -> Any:
        step = lambda c, _: (0.5 * jnp.linalg.solve(matrix + jnp.diag(c), c), None)  # noqa: E731
        return jax.lax.scan(step, vector, None, length=3)[0]

    def program(matrix: Any, vector: Any) -> Any:
        first = inner(matrix, vector) if is_first else vector
        outer = lambda c, _: (inner(matrix + jnp.diag(c), c), None)  # noqa: E731
        last = jax.lax.scan(outer, first, None, length=4)[0]
        return last if is_first else inner(matrix, last)

    args = definite(rows=3), np.ones(3, "float32")
    lowered = olympus.interop.jax.jit(program).lower(*args)
    assert lowered.as_text().count(MARK) >= 2
    assert calls_of_lapack(lowered) == 0
    ours = lowered.compile()(*args)
    np.testing.assert_allclose(ours, jax.jit(program)(*args), rtol=1e-5, atol=1e-7)


def test_own_programs_have_such_functions_too() -> None:
    def program(matrix: Any, vector: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return 0.5 * ox.numpy.linalg.solve(matrix + ox.numpy.diag(c), c), c

        return ox.lax.scan(step, vector, None, length=9)

    args = definite(rows=3), np.ones(3, "float32")
    lowered = ox.jit(program).lower(*args)
    assert (lowered.as_text().count(MARK), calls_of_lapack(lowered)) == (1, 0)
    expected, rows = args[1], []
    for _ in range(9):
        rows.append(expected)
        expected = 0.5 * np.linalg.solve(args[0] + np.diag(expected), expected)
    last, states = lowered.compile()(*args)
    np.testing.assert_allclose(last, expected, rtol=1e-5)
    np.testing.assert_allclose(states, rows, rtol=1e-5)


@pytest.mark.parametrize("middle", [0.5, np.nan])
def test_failures_are_those_of_lapack(middle: float) -> None:
    program, _, vector = scan(lambda m, c: jnp.linalg.cholesky(m - jnp.diag(c)) @ c, 3)
    matrix = np.diag([2, middle, 2]).astype("float32")
    ours, theirs = (jit(program)(matrix, vector) for jit in (olympus.interop.jax.jit, jax.jit))
    for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(x, y)
    assert np.isnan(ours[0]).any()


CALL = """
func.func @main({operands}) -> {results} {{
  %0:{count} = stablehlo.custom_call @lapack_{target}({names}) {{
    mhlo.backend_config = {{{options}}}, {layouts}
  }} : ({types}) -> ({results})
  return {values} : {results}
}}
"""


def call(target: str, options: str, operands: list[str], results: list[str], layout: str) -> Any:
    """Return the operation of a module with one call of LAPACK."""
    ranks = [x.count("x") for x in results]
    column_major = {2: "[0, 1]", 1: "0", 0: ""}
    orders = [f"dense<{layout}> : tensor<2xindex>" for _ in operands]
    own = [f"dense<{column_major[n]}> : tensor<{n}xindex>" for n in ranks]
    text = CALL.format(
        target=target,
        options=options,
        operands=", ".join(f"%a{i}: tensor<{x}>" for i, x in enumerate(operands)),
        names=", ".join(f"%a{i}" for i in range(len(operands))),
        types=", ".join(f"tensor<{x}>" for x in operands),
        results=", ".join(f"tensor<{x}>" for x in results),
        count=len(results),
        values=", ".join(f"%0#{i}" for i in range(len(results))),
        layouts=f"operand_layouts = [{', '.join(orders)}], result_layouts = [{', '.join(own)}]",
    )
    return mlir.parsed(text.replace("-> tensor", "-> (tensor").replace(" {\n", ") {\n", 1))


TRSM = "diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8"


@pytest.mark.parametrize(
    ("target", "options", "operands", "results", "layout", "is_known"),
    [
        ("spotrf_ffi", "uplo = 76 : ui8", ["3x3xf32"], ["3x3xf32", "i32"], "[0, 1]", True),
        ("strsm_ffi", TRSM, ["3x3xf32", "3x1xf32"], ["3x1xf32"], "[0, 1]", True),
        ("spotrf_ffi", "uplo = 76 : ui8", ["3x3xf32"], ["3x3xf32", "i32"], "[1, 0]", False),
        ("spotrf_ffi", "", ["3x3xf32"], ["3x3xf32", "i32"], "[0, 1]", False),
        ("spotrf_ffi", "uplo = 76 : ui8", ["3x3xf32"], ["3x3xf32"], "[0, 1]", False),
        ("spotrf_ffi", "uplo = 76 : ui8", ["3x4xf32"], ["3x4xf32", "i32"], "[0, 1]", False),
        ("spotrf_ffi", "uplo = 76 : ui8", ["8x8xf32"], ["8x8xf32", "i32"], "[0, 1]", False),
        ("spotrf_ffi", "uplo = 76 : ui8", ["0x0xf32"], ["0x0xf32", "i32"], "[0, 1]", False),
        ("cpotrf_ffi", "uplo = 76 : ui8", ["3x3xi64"], ["3x3xi64", "i32"], "[0, 1]", False),
        ("sgetrf_ffi", "", ["3x3xf32"] * 2, ["3x3xf32", "3xi32", "i32"], "[0, 1]", False),
        ("sgetrf_ffi", "", ["3x3xf32"], ["3x3xf32", "2xi32", "i32"], "[0, 1]", False),
        ("strsm_ffi", TRSM, ["3x3xf32", "4x1xf32"], ["4x1xf32"], "[0, 1]", False),
        ("strsm_ffi", TRSM, ["3x3xf32"], ["3x3xf32"], "[0, 1]", False),
        ("strsm_ffi", TRSM, ["3x3xf32", "3x1xf64"], ["3x1xf64"], "[0, 1]", False),
        ("sgeqrf_ffi", "", ["3x3xf32"], ["3x3xf32", "3xf32"], "[0, 1]", False),
    ],
)
def test_calls_of_lapack_are_recognized_by_all_their_parts(
    target: str, options: str, operands: list[str], results: list[str], layout: str, is_known: bool
) -> None:
    module = call(target, options, operands, results, layout)
    operation = module.body.operations[0].regions[0].blocks[0].operations[0].operation
    assert (decomposition_of(operation) is not None) == is_known


OPTION = "uplo = 76 : ui8"
NO_OPERANDS = {
    "spotrf_ffi(%arg0)": "spotrf_ffi()",
    ": (tensor<3x3xf32>) -> (tensor<3x3xf32>, ": ": () -> (tensor<3x3xf32>, ",
    "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]": "operand_layouts = []",
}


@pytest.mark.parametrize(
    "changes",
    [
        {OPTION: "uplo = 88 : ui8"},  # X
        {OPTION: "uplo = -3 : i8"},
        {OPTION: "uplo = 99999999999 : i64"},
        {OPTION: 'uplo = "L"'},
        {OPTION: "uplo"},
        {"result_layouts = [dense<[0, 1]>": "result_layouts = [dense<[1, 0]>"},
        {"lapack_spotrf_ffi": "lapack_dpotrf_ffi"},
        NO_OPERANDS,
    ],
)
def test_calls_that_lapack_refuses_are_not_recognized(changes: dict[str, str]) -> None:
    text = str(call("spotrf_ffi", OPTION, ["3x3xf32"], ["3x3xf32", "i32"], layout="[0, 1]"))
    for part, other in changes.items():
        assert part in text
        text = text.replace(part, other)
    module = mlir.parsed(text)
    operation = module.body.operations[0].regions[0].blocks[0].operations[0].operation
    assert decomposition_of(operation) is None


def test_the_time_to_compile_grows_with_the_matrix() -> None:
    def of(rows: int, routine: str, *options: tuple[str, str], columns: int = 0) -> Decomposition:
        a = shaped((rows, rows), np.dtype("float32"))
        b = shaped((rows, columns or rows), np.dtype("float32"))
        return Decomposition(routine, options, (a, b), (b,))

    assert of(2, "getrf").milliseconds < of(5, "getrf").milliseconds
    assert of(5, "trsm", columns=1).milliseconds < of(5, "trsm").milliseconds
    keys = itertools.product((5, 6), ("potrf", "trsm"))
    assert [of(*key).is_long_factorization for key in keys] == [False, False, True, False]
