"""olympus.experimental.sparse against JAX and dense arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.experimental.sparse
import jax.numpy
import numpy as np
import pytest
import scipy.sparse

import olympus as ox
import olympus.experimental.sparse
from olympus.errors import ArgumentError, ShapeError, UnsupportedError
from tests.library.oracle import check, row

SPARSE = {ox.numpy: olympus.experimental.sparse, jax.numpy: jax.experimental.sparse}
PACKAGE = {ox.numpy: ox, jax.numpy: jax}
rng = np.random.default_rng(0)


def random(*shape: int) -> Any:
    """Return an array of which about half of the elements are 0."""
    x = rng.normal(size=shape).astype(np.float32)
    return np.where(rng.uniform(size=shape) < 0.5, 0, x)


X, Y, V = random(4, 5), random(4, 5), rng.normal(size=5).astype(np.float32)
B = random(2, 3, 4)
#: indices out of order, equal ones, and padding
DATA = np.array([1.0, 2, 3, 4, 5], np.float32)
INDICES = np.array([[2, 1], [0, 3], [2, 1], [4, 5], [0, 0]], np.int32)
LAYOUTS = [(0, 0), (1, 0), (0, 1), (1, 1)]


def make(n: Any, x: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    """Return x as BCOO with enough elements, also if it is traced."""
    size = int(np.prod(x.shape[n_batch : x.ndim - n_dense]))
    return SPARSE[n].BCOO.fromdense(x, nse=size, n_batch=n_batch, n_dense=n_dense)


def unordered(n: Any, data: Any) -> Any:
    return SPARSE[n].BCOO((data, n.asarray(INDICES)), shape=(4, 5))


Case = tuple[str, Callable[..., Any], tuple[Any, ...]]


def dense(result: Any) -> Any:
    return result.todense() if hasattr(result, "todense") else result


def run(cases: list[Case], **options: Any) -> None:
    check([
        row(name, lambda n, *args, call=call: dense(call(n, SPARSE[n], *args)), *args,
            rtol=1e-5, atol=1e-5)
        for name, call, args in cases
    ], weak=False, **options)  # fmt: skip


FORMATS: list[Case] = [
    *[(f"dense {b} {d}", lambda n, s, x, b=b, d=d: make(n, x, b, d), (B,)) for b, d in LAYOUTS],
    ("indices", lambda n, s, x: s.BCOO.fromdense(x, nse=14).indices, (X,)),
    ("padding", lambda n, s, x: s.BCOO.fromdense(x, nse=20).data, (X,)),
    ("fewer", lambda n, s, x: s.BCOO.fromdense(x, nse=3), (X,)),
    ("repeated", lambda n, s, d: unordered(n, d), (DATA,)),
    ("sorted", lambda n, s, d: unordered(n, d).sort_indices().indices, (DATA,)),
    ("summed", lambda n, s, d: unordered(n, d).sum_duplicates(nse=3, remove_zeros=False).data,
     (DATA,)),
    ("bcsr", lambda n, s, x: s.BCSR.fromdense(x, nse=20), (X,)),
    ("bcsr parts", lambda n, s, x: s.BCSR.fromdense(x, nse=20).indptr, (X,)),
    ("bcsr batch", lambda n, s, x: s.BCSR.fromdense(x, nse=12, n_batch=1), (B,)),
    ("bcsr dense", lambda n, s, x: s.BCSR.fromdense(x, nse=6, n_dense=1), (B,)),
    ("to bcoo", lambda n, s, x: s.BCSR.fromdense(x, nse=20).to_bcoo().indices, (X,)),
    ("from bcoo", lambda n, s, d: s.BCSR.from_bcoo(unordered(n, d)), (DATA,)),
    *[(f"{c} {t}", lambda n, s, x, c=c, t=t: (lambda m: m.T if t else m)(
        getattr(s, c).fromdense(x, nse=20)), (X,)) for c in ("COO", "CSR", "CSC") for t in (0, 1)],
    ("csr parts", lambda n, s, x: s.CSR.fromdense(x, nse=20).indptr, (X,)),
    ("extract", lambda n, s, d, y: s.bcoo_extract(unordered(n, d), y), (DATA, Y)),
    ("extracted rows", lambda n, s, x, y: s.bcsr_extract(
        s.BCSR.fromdense(x, nse=20).indices, s.BCSR.fromdense(x, nse=20).indptr, y), (X, Y)),
    ("eye", lambda n, s: s.eye(3, 5, k=1), ()),
    ("eye below", lambda n, s: s.eye(5, 3, k=-1, sparse_format="csr"), ()),
    ("empty", lambda n, s: s.empty((3, 2), dtype="int32"), ()),
    ("empty csc", lambda n, s: s.empty((3, 2), sparse_format="csc"), ()),
    ("todense", lambda n, s, x: s.todense(make(n, x)) + s.todense(x), (X,)),
]  # fmt: skip
SHAPES: list[Case] = [
    ("transpose", lambda n, s, x: make(n, x).T, (X,)),
    ("transpose batch", lambda n, s, x: s.bcoo_transpose(make(n, x, 1), permutation=(0, 2, 1)),
     (B,)),
    ("transpose dense", lambda n, s, x: s.bcoo_transpose(make(n, x, 0, 2), permutation=(0, 2, 1)),
     (B,)),
    *[(f"sum {b} {d} {axes}", lambda n, s, x, b=b, d=d, a=axes: s.bcoo_reduce_sum(
        make(n, x, b, d), axes=a), (B,))
      for b, d in LAYOUTS for axes in ((0,), (1, 2))],
    *[(f"slice {b} {d}", lambda n, s, x, b=b, d=d: s.bcoo_slice(
        make(n, x, b, d), start_indices=(0, 1, 0), limit_indices=(1, 3, 4), strides=(1, 1, 2)),
       (B,)) for b, d in LAYOUTS],
    *[(f"dynamic {b} {d}", lambda n, s, x, i, b=b, d=d: s.bcoo_dynamic_slice(
        make(n, x, b, d), (i, i, 9), (1, 2, 3)), (B, np.int32(1))) for b, d in LAYOUTS],
    *[(f"rev {b} {d}", lambda n, s, x, b=b, d=d: s.bcoo_rev(make(n, x, b, d), (0, 2)), (B,))
      for b, d in LAYOUTS],
    *[(f"join {axis}", lambda n, s, x, a=axis: s.bcoo_concatenate(
        [make(n, x, 1), make(n, 2 * x, 1)], dimension=a), (B,)) for axis in (0, 1, 2)],
    ("reshape", lambda n, s, x: s.bcoo_reshape(make(n, x), new_sizes=(2, 10)), (X,)),
    ("reshape repeated", lambda n, s, d: unordered(n, d).reshape(20), (DATA,)),
    ("reshape batch", lambda n, s, x: s.bcoo_reshape(make(n, x, 1), new_sizes=(2, 6, 2)), (B,)),
    ("squeeze", lambda n, s, x: s.bcoo_squeeze(make(n, x[None]), dimensions=(0,)), (X,)),
    *[(f"layout {k}", lambda n, s, x, k=k: make(n, x, 1).update_layout(
        n_batch=k[0], n_dense=k[1], on_inefficient=None), (B,)) for k in LAYOUTS],
    ("broadcast", lambda n, s, x: s.bcoo_broadcast_in_dim(
        make(n, x[:1]), shape=(3, 1, 5), broadcast_dimensions=(1, 2)), (X,)),
]  # fmt: skip
CONTRACT = (((1,), (0,)), ((), ()))
PRODUCTS: list[Case] = [
    ("vector", lambda n, s, x, v: make(n, x) @ v, (X, V)),
    ("matrix", lambda n, s, x, y: make(n, x) @ y.T, (X, Y)),
    ("left", lambda n, s, x, y: y.T @ make(n, x), (X, Y)),
    ("repeated", lambda n, s, d, v: unordered(n, d) @ v, (DATA, V)),
    ("sparse pair", lambda n, s, x, y: make(n, x) @ make(n, y).T, (X, Y)),
    ("batch", lambda n, s, x: make(n, x, 1) @ n.swapaxes(x, 1, 2), (B,)),
    ("dense blocks", lambda n, s, x, v: s.bcoo_dot_general(
        make(n, x, 0, 1), v[:4], dimension_numbers=(((0,), (0,)), ((), ()))), (X, V)),
    ("other batch", lambda n, s, x, y: s.bcoo_dot_general(
        make(n, x, 1), y, dimension_numbers=(((2,), (0,)), ((), ()))), (B, random(4, 3))),
    ("sampled", lambda n, s, x, y: s.bcoo_dot_general_sampled(
        x, y.T, INDICES[:3] % 4, dimension_numbers=CONTRACT), (X, Y)),
    ("scalar", lambda n, s, x: 2 * make(n, x) * 3, (X,)),
    ("elements", lambda n, s, x, v: make(n, x) * v, (X, V)),
    ("pair", lambda n, s, x, y: make(n, x) * make(n, y), (X, Y)),
    ("sum", lambda n, s, x, y: make(n, x) + make(n, y) - make(n, 2 * y), (X, Y)),
    ("negative", lambda n, s, x: -make(n, x), (X,)),
    ("total", lambda n, s, x: make(n, x).sum(), (X,)),
    ("part", lambda n, s, x: make(n, x)[1], (X,)),
    ("parts", lambda n, s, x: make(n, x)[:, 1:4:2], (X,)),
    ("element", lambda n, s, x: make(n, x)[-1, 2], (X,)),
    ("bcsr", lambda n, s, x, v: s.BCSR.fromdense(x, nse=20) @ v, (X, V)),
    ("bcsr general", lambda n, s, x, v: s.bcsr_dot_general(
        s.BCSR.fromdense(x, nse=20), v, dimension_numbers=CONTRACT), (X, V)),
    *[(f"{c} product", lambda n, s, x, v, c=c: getattr(s, c).fromdense(x, nse=20) @ v, (X, V))
      for c in ("COO", "CSR", "CSC")],
    *[(f"{c} {f} {t}", lambda n, s, x, v, c=c, f=f, t=t: getattr(s, f"{c}_{f}")(
        getattr(s, f"{c}_fromdense")(x, nse=20), v, transpose=t), (X, v))
      for c in ("coo", "csr") for f, v, t in (
          ("matvec", V, False), ("matvec", V[:4], True), ("matmat", Y.T, False))],
    ("integers", lambda n, s, x, v: make(n, x) @ v, (X, np.arange(5, dtype=np.int32))),
]  # fmt: skip


@pytest.mark.parametrize(
    "cases", [FORMATS, SHAPES, PRODUCTS], ids=["formats", "shapes", "products"]
)
def test_values(cases: list[Case]) -> None:
    run(cases)


def test_eager_calls() -> None:
    run([FORMATS[0], FORMATS[3], PRODUCTS[0], PRODUCTS[4], SHAPES[0]], jit=False)


def test_derivatives_and_batches() -> None:
    def call(n: Any, x: Any, y: Any, v: Any, d: Any) -> Any:
        package, s = PACKAGE[n], SPARSE[n]

        def total(x: Any, v: Any) -> Any:
            return n.sum(n.sin(make(n, x) @ v)) + n.sum((make(n, x) * v).todense() ** 2)

        mat = make(n, x)
        of_sparse = s.grad(lambda m, v: n.sum(n.cos(m @ v)), argnums=(0, 1))(mat, v)
        of_repeated = package.grad(lambda d: n.sum(n.sin(unordered(n, d).todense())))(d)
        value, slope = s.value_and_grad(lambda m: n.sum(m.data**3))(mat)
        jacobians = [f(lambda m: m @ v)(mat) for f in (s.jacfwd, s.jacrev)]
        tangent = package.jvp(lambda x: total(x, v), (x,), (y,))[1]
        mapped = package.vmap(lambda d: unordered(n, d) @ v)(n.stack([d, 2 * d]))
        return [
            *package.grad(total, (0, 1))(x, v), of_sparse[0].data, of_sparse[1], of_repeated,
            value, slope.data, tangent, mapped, *[j.todense() for j in jacobians],
        ]  # fmt: skip

    check([row("grad", call, X, Y, V, DATA, rtol=1e-4, atol=1e-5)], weak=False)


def test_sparsify() -> None:
    def of(name: str, f: Callable[[Any, Any, Any], Any]) -> Any:
        def call(n: Any, x: Any, v: Any) -> Any:
            function = SPARSE[n].sparsify(lambda x, v: f(n, x, v))
            return dense(function(make(n, x), v))

        return row(name, call, X, V, rtol=1e-5, atol=1e-5)

    functions: dict[str, Callable[[Any, Any, Any], Any]] = {
        "elements": lambda n, x, v: n.sin(x) + -n.tanh(x) * 2.0 - x / 3.0,
        "product": lambda n, x, v: (x * v) @ v,
        "shapes": lambda n, x, v: n.concatenate([x.T[1:3], x.reshape(5, 4)[::2]]),
        "sum": lambda n, x, v: (x**2).sum(0),
        "nested": lambda n, x, v: PACKAGE[n].jit(lambda x: x.T @ x)(x),
        "part": lambda n, x, v: x[1, 2:],
        "flip": lambda n, x, v: n.flip(x, 1).astype("float16"),
    }
    check([of(name, f) for name, f in functions.items()], weak=False)
    sparse, mat = olympus.experimental.sparse, olympus.experimental.sparse.BCOO.fromdense(X)
    with pytest.raises(NotImplementedError, match="sparse rule for exp"):
        sparse.sparsify(ox.numpy.exp)(mat)
    rows = sparse.BCSR.fromdense(X)
    np.testing.assert_allclose(sparse.sparsify(lambda m: m @ V)(rows), X @ V, rtol=1e-5)


def test_concrete_arrays() -> None:
    sparse = olympus.experimental.sparse
    mat = sparse.BCOO.fromdense(X)
    assert repr(mat) == f"BCOO(float32[4, 5], nse={np.count_nonzero(X)})"
    assert repr(sparse.BCOO.fromdense(B, n_batch=1)).endswith("n_batch=1)")
    assert (mat.ndim, mat.size, len(mat), mat.n_sparse) == (2, 20, 4, 2)
    one = unordered(ox.numpy, DATA).sum_duplicates()
    assert one.nse == 3 and one.unique_indices
    np.testing.assert_array_equal(one.data, [5, 2, 4])
    for name in ("BCOO", "BCSR"):
        found = getattr(sparse, name).from_scipy_sparse(scipy.sparse.csr_matrix(X))
        np.testing.assert_array_equal(found.todense(), X)
    np.testing.assert_array_equal(ox.jit(lambda m: m.T)(mat).todense(), X.T)
    assert sum(1 for _ in mat) == 4
    kinds = {"nse": 5, "n_batch": 1, "n_dense": 1}
    key, theirs = ox.random.key(0), jax.random.key(0)
    mine, expected = (
        s.random_bcoo(k, (2, 4, 5, 3), dtype="float32", sorted_indices=True, **kinds)
        for s, k in ((sparse, key), (jax.experimental.sparse, theirs))
    )
    for part in ("data", "indices"):
        np.testing.assert_allclose(getattr(mine, part), getattr(expected, part), rtol=1e-6)


def _mapped(package: Any) -> list[Any]:
    """Return values of functions that are mapped over batch axes of sparse arrays."""
    s, vmap = importlib.import_module(f"{package.__name__}.experimental.sparse"), package.vmap
    cube = np.asarray(np.arange(40).reshape(2, 4, 5) % 3, np.float32)
    mat, rows = s.BCOO.fromdense(cube, n_batch=1), s.BCSR.fromdense(cube, n_batch=1)
    vector = np.arange(5, dtype=np.float32)
    return [
        vmap(lambda m: m.todense())(mat),
        package.jit(vmap(lambda m, v: m @ v, in_axes=(0, None)))(mat, vector),
        vmap(lambda m, v: (m * v[0]).T)(mat, np.ones((2, 3), np.float32)).todense(),
        vmap(lambda m: m.sum(0))(mat).todense(),
        vmap(lambda v: mat @ v)(np.ones((3, 5, 2), np.float32))[0],
        vmap(lambda m: m @ vector)(rows),
        *(mat @ np.ones(shape, np.float32) for shape in [(5, 2), (2, 5, 3), (1, 5, 3)]),
        s.BCOO.fromdense(cube[0]) @ np.ones((2, 5, 3), np.float32),
        vmap(lambda m: m.to_bcoo())(rows).todense(),
        package.grad(lambda v: vmap(lambda m: m @ v)(mat).sum())(vector),
    ]


def test_maps_over_batch_axes() -> None:
    for got, want in zip(_mapped(ox), _mapped(jax), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-6)
    for package in (ox, jax):
        sparse = importlib.import_module(f"{package.__name__}.experimental.sparse")
        with pytest.raises(ValueError, match="Cannot map in_axis=0 for BCOO array with n_batch=0"):
            package.vmap(lambda m: m.todense())(sparse.BCOO.fromdense(X))


PARTS: list[Any] = [
    (None, 0), (slice(None), None, 1), (..., None), (np.asarray([1, 0]),), (0, slice(1, 3), None),
]  # fmt: skip


@pytest.mark.parametrize("index", PARTS, ids=str)
def test_new_axes_and_index_arrays(index: Any) -> None:
    cube = np.asarray(np.arange(40).reshape(2, 4, 5) % 3, np.float32)
    mat = olympus.experimental.sparse.BCOO.fromdense(cube)
    np.testing.assert_array_equal(np.asarray(mat[index].todense()), cube[index])


def test_products_of_sparse_arrays_have_no_more_elements_than_the_result() -> None:
    cube = np.asarray(np.arange(40).reshape(2, 4, 5) % 3, np.float32)
    for n_batch, numbers in [
        (0, (((0, 1, 2), (0, 1, 2)), ((), ()))),
        (2, (((2,), (2,)), ((0,), (0,)))),
    ]:
        products = []
        for package in (ox, jax):
            s = importlib.import_module(f"{package.__name__}.experimental.sparse")
            mats = s.BCOO.fromdense(cube, n_batch=n_batch), s.BCOO.fromdense(cube, n_batch=1)
            mats = mats if n_batch else (mats[0], s.BCOO.fromdense(cube))
            products.append(s.bcoo_dot_general(*mats, dimension_numbers=numbers))
        got, want = products
        np.testing.assert_allclose(np.asarray(got.todense()), np.asarray(want.todense()))
        assert got.nse <= max(np.prod(got.shape[got.n_batch :], dtype=int), 1)


def test_errors() -> None:
    s = olympus.experimental.sparse
    mat = s.BCOO.fromdense(X)
    pair = s.BCOO.fromdense(B, n_dense=1)
    rows = s.BCOO.fromdense(X, n_batch=1)
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: s.BCOO((DATA, INDICES), shape=(4,)), ArgumentError, "do not match"),
        (lambda: s.BCOO((DATA[:2], INDICES), shape=(4, 5)), ValueError, "do not match"),
        (lambda: s.BCOO((DATA, INDICES * 1.0), shape=(4, 5)), TypeError, "integer indices"),
        (lambda: ox.jit(s.bcoo_fromdense)(X), TypeError, "pass nse"),
        (lambda: ox.jit(lambda m: m.sum_duplicates())(mat), ValueError, "nse must be"),
        (lambda: s.bcoo_extract(mat, V), ShapeError, "shape mismatch"),
        (lambda: s.bcoo_transpose(mat, permutation=(0, 0)), ValueError, "Invalid permutation"),
        (lambda: pair.T, NotImplementedError, "must not move"),
        (lambda: mat @ V[:2], TypeError, "equal lengths"),
        (
            lambda: s.bcoo_dot_general(pair, pair, dimension_numbers=(((1,), (1,)), ((), ()))),
            NotImplementedError,
            "n_dense",
        ),
        (lambda: s.bcoo_slice(mat, start_indices=(0,), limit_indices=(1,)), ValueError, "size"),
        (lambda: s.bcoo_reshape(mat, new_sizes=(3, 3)), ValueError, "cannot reshape"),
        (lambda: s.bcoo_reshape(rows, new_sizes=(20,)), ValueError, "cannot mix batch and sparse"),
        (lambda: s.bcoo_squeeze(mat, dimensions=(0,)), ValueError, "length 1"),
        (lambda: mat.update_layout(n_batch=1), s.SparseEfficiencyError, "inefficient"),
        (lambda: mat.update_layout(n_batch=3), ValueError, "more than 2"),
        (lambda: s.bcoo_concatenate([mat, pair], dimension=0), ValueError, "matching nbatch"),
        (lambda: mat + pair, NotImplementedError, "different shapes"),
        (lambda: mat[V > 0, V > 0], NotImplementedError, "along one axis"),
        (lambda: s.BCSR.fromdense(V), ValueError, "two sparse"),
        (lambda: s.BCSR.fromdense(X).T, NotImplementedError, "Transpose of BCSR"),
        (lambda: s.COO.fromdense(X).transpose((0, 1)), NotImplementedError, "axes argument"),
        (lambda: s.CSR.fromdense(X) @ mat, NotImplementedError, "two sparse objects"),
        (lambda: s.empty((2, 2), sparse_format="odd"), ValueError, "not recognized"),
        (lambda: s.random_bcoo(ox.random.key(0), (2, 2), nse=9), ValueError, "expected to be"),
        (lambda: -s.CSR.fromdense(X), UnsupportedError, "operator"),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()
    with pytest.warns(s.SparseEfficiencyWarning):
        mat.update_layout(n_batch=1, on_inefficient="warn")


def test_elimination_of_zeros_and_maps_over_axes_that_broadcast() -> None:
    for package in (ox, jax):
        sparse = importlib.import_module(f"{package.__name__}.experimental.sparse")
        bcoo = importlib.import_module(f"{sparse.__name__}.bcoo")
        bcsr = importlib.import_module(f"{sparse.__name__}.bcsr")
        util = importlib.import_module(f"{sparse.__name__}.util")
        mat = sparse.BCOO((np.float32([1, 0, 2]), np.asarray([[1], [2], [0]])), shape=(3,))
        assert bcoo.bcoo_eliminate_zeros(mat).nse == 2
        assert np.array_equal(bcoo.bcoo_eliminate_zeros(mat, nse=3).todense(), mat.todense())
        rows = bcsr.bcsr_fromdense(np.eye(2, dtype=np.float32), nse=4)
        assert bcsr.bcsr_eliminate_zeros(rows, nse=2).nse == 2
        add = util.nfold_vmap(lambda x, y: x + y, 2)
        total = add(np.ones((3, 1, 2), np.float32), np.ones((1, 4, 2), np.float32))
        assert np.array_equal(total, np.full((3, 4, 2), 2.0))
        alone = util.nfold_vmap(lambda x: x.sum(), 1, broadcasted=False)
        assert np.array_equal(alone(np.ones((3, 2), np.float32)), [2.0] * 3)


def test_solution_of_a_sparse_system() -> None:
    dense = np.float32([[2, 1, 0], [0, 4, 0], [1, 0, 3]])
    mat, right = olympus.experimental.sparse.CSR.fromdense(dense), np.float32([1, 2, 3])
    linalg = importlib.import_module("olympus.experimental.sparse.linalg")
    for solve in (linalg.spsolve, ox.jit(linalg.spsolve)):
        out = solve(mat.data, mat.indices, mat.indptr, right)
        assert np.allclose(dense @ np.asarray(out), right, atol=1e-5)
