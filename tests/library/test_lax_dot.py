"""Products of olympus.lax beside `dot_general`: ragged, scaled, local and of wide integers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from tests.library.oracle import check, row

PACKAGES = {ox.numpy: ox, jax.numpy: jax}
RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


SIZES = np.asarray([2, 0, 3], np.int32)
#: by mode, with batch axes and with axes in unusual orders: lhs, rhs, sizes, axes
GENERAL: dict[str, tuple[Any, Any, Any, Any]] = {
    "rows": (floats(6, 4), floats(3, 4, 2), SIZES, ((([1], [1]), ([], [])), [0], [0])),
    "group last": (floats(6, 4), floats(4, 2, 3), SIZES, ((([1], [0]), ([], [])), [0], [2])),
    "batched": (
        floats(2, 4, 6), floats(3, 4, 2, 5), SIZES, ((([1], [1]), ([0], [2])), [2], [0]),
    ),
    "sizes by batch": (
        floats(2, 4, 6), floats(3, 4, 2, 5), np.stack([SIZES, SIZES[::-1]]),
        ((([1], [1]), ([0], [2])), [2], [0]),
    ),
    "sizes by rows": (
        floats(2, 6, 4), floats(4, 3), np.stack([SIZES, SIZES + 1]),
        ((([2], [0]), ([], [])), [1], [1]),
    ),
    "contracted": (floats(6, 4), floats(6, 2), SIZES, ((([0], [0]), ([], [])), [0], [])),
    "contracted twice": (
        floats(6, 4, 3), floats(3, 5, 6), SIZES, ((([0, 2], [2, 0]), ([], [])), [0], []),
    ),
    "contracted by batch": (
        floats(6, 2, 4), floats(2, 6, 5), np.stack([SIZES, SIZES[::-1]]),
        ((([0], [1]), ([1], [0])), [0], []),
    ),
    "batch": (floats(6, 4), floats(6, 2), SIZES, ((([], []), ([0], [0])), [0], [])),
}  # fmt: skip


def general(m: Any, name: str, lhs: Any, rhs: Any, sizes: Any, **options: Any) -> Any:
    lax = PACKAGES[m].lax
    numbers = lax.RaggedDotDimensionNumbers(*GENERAL[name][3])
    return lax.ragged_dot_general(lhs, rhs, sizes, numbers, **options)


def gradients(m: Any, name: str, lhs: Any, rhs: Any, sizes: Any) -> Any:
    def total(x: Any, y: Any) -> Any:
        return m.sin(general(m, name, x, y, sizes)).sum()

    return PACKAGES[m].grad(total, (0, 1))(lhs, rhs)


@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [
        *[("int8", kind) for kind in ("uint32", "float32", "complex64")],
        *[("float32", kind) for kind in ("int32", "float16", "complex64")],
    ],
)
def test_preferred_dtypes_of_another_kind(dtype: str, preferred: str) -> None:
    x = np.round(3 * floats(4, 4)).astype(dtype)
    got, want = (m.lax.dot(x, x, preferred_element_type=np.dtype(preferred)) for m in (ox, jax))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_gradients_through_preferred_dtypes_of_another_kind() -> None:
    def gradient(m: Any, preferred: str) -> Any:
        def total(x: Any) -> Any:
            product = m.lax.dot(x, x, preferred_element_type=np.dtype(preferred))
            return m.numpy.real(product * 2).sum().astype("float32")

        return m.grad(total)(np.arange(4, dtype=np.float32).reshape(2, 2))

    np.testing.assert_allclose(gradient(ox, "complex64"), gradient(jax, "complex64"))
    assert not np.asarray(gradient(ox, "int32")).any()


def test_preferred_dtypes_that_are_narrower_are_refused() -> None:
    x = np.ones((2, 2), np.int32)
    for m in (ox, jax):
        with pytest.raises(TypeError, match="must not be narrower than the original type, got pre"):
            m.lax.dot(x, x, preferred_element_type=np.dtype("int8"))
        with pytest.raises(TypeError, match="Input type is incompatible with `preferred_element_t"):
            m.lax.conv(x[None, None], x[None, None], (1, 1), "SAME", None, np.dtype("complex64"))


def test_ragged_products() -> None:
    rows = [
        row(name, lambda m, *xs, name=name: general(m, name, *xs), *args[:3], rtol=1e-5, atol=1e-5)
        for name, args in GENERAL.items()
    ]
    lhs, rhs, sizes = GENERAL["rows"][:3]

    def dot(m: Any, *xs: Any, **options: Any) -> Any:
        return PACKAGES[m].lax.ragged_dot(*xs, **options)

    rows += [
        row("dtype", lambda m, *xs: dot(m, *xs, preferred_element_type="float32"),
            lhs.astype("float16"), rhs.astype("float16"), sizes.astype("int8"), rtol=1e-3),
        row("ints", lambda m, *xs: dot(m, *xs), *[np.round(3 * x).astype(np.int32)
            for x in (lhs, rhs)], sizes.astype("uint32")),
        row("vmap", lambda m, *xs: PACKAGES[m].vmap(lambda *v: dot(m, *v))(*xs),
            np.stack([lhs, -lhs]), np.stack([rhs, 2 * rhs]), np.stack([sizes, sizes[::-1]]),
            rtol=1e-5, atol=1e-5),
        row("no rows", lambda m, *xs: dot(m, *xs), lhs[:0], rhs, sizes),
    ]  # fmt: skip
    rows += [
        row(f"gradient {n}", lambda m, *xs, n=n: gradients(m, n, *xs), *GENERAL[n][:3],
            rtol=1e-5, atol=1e-5)
        for n in ("rows", "group last", "batched", "sizes by batch")
    ]  # fmt: skip
    check(rows)
    check(rows[:1], jit=False)


@pytest.mark.parametrize("name", ["contracted", "contracted by batch", "batch"])
def test_derivatives_that_jax_does_not_have(name: str) -> None:
    lhs, rhs, sizes = GENERAL[name][:3]
    ox.test_util.check_grads(
        lambda x, y: general(ox.numpy, name, x, y, sizes), (lhs, rhs), 2, rtol=2e-2, eps=1e-2
    )


@pytest.mark.parametrize("axes", [(2, None, None), (None, 1, None), (None, None, 0)], ids=str)
def test_a_batch_of_one_operand_is_a_loop(axes: tuple[int | None, ...]) -> None:
    args = GENERAL["rows"][:3]
    batch = [x if a is None else np.stack([x, x + 1], a) for x, a in zip(args, axes, strict=True)]
    expected = []
    for i in range(2):
        rows = [x if a is None else x.take(i, a) for x, a in zip(batch, axes, strict=True)]
        expected.append(ox.lax.ragged_dot(*rows))
    result = ox.vmap(ox.lax.ragged_dot, axes)(*batch)
    np.testing.assert_allclose(result, np.stack(expected), rtol=1e-5, atol=1e-5)


RAGGED_ERRORS: dict[str, Any] = {
    "two ragged axes": (floats(2, 3), floats(2, 3, 2), SIZES[:2], ([0, 1], [0])),
    "ragged axis": (floats(2, 3), floats(2, 3, 2), SIZES[:2], ([2], [0])),
    "scalar sizes": (floats(2, 3), floats(2, 3, 2), SIZES[0], ([0], [0])),
    "shape of sizes": (floats(2, 3), floats(2, 3, 2), SIZES[None], ([0], [0])),
    "float sizes": (floats(2, 3), floats(2, 3, 2), floats(2), ([0], [0])),
    "no group axis": (floats(2, 3), floats(3, 3, 2), SIZES, ([0], [])),
    "group axis": (floats(2, 3), floats(3, 3, 2), SIZES, ([0], [5])),
    "contracted group axis": (floats(2, 3), floats(3, 3, 2), SIZES, ([0], [1])),
    "groups": (floats(2, 3), floats(2, 3, 2), SIZES, ([0], [0])),
    "group axis of a contraction": (floats(2, 3), floats(3, 3, 2), SIZES, ([1], [0])),
    "contracted sizes": (floats(2, 3), floats(3, 4, 2), SIZES, ([0], [0])),
}


@pytest.mark.parametrize("name", RAGGED_ERRORS)
def test_errors_of_ragged_products(name: str) -> None:
    lhs, rhs, sizes, axes = RAGGED_ERRORS[name]
    for package in (jax, ox):
        numbers = package.lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), *axes)
        with pytest.raises(TypeError):
            package.lax.ragged_dot_general(lhs, rhs, sizes, numbers)


def test_group_offset_is_refused() -> None:
    for package in (jax, ox):
        with pytest.raises(NotImplementedError):
            package.lax.ragged_dot(*GENERAL["rows"][:3], group_offset=(0,))


def test_axes_of_ragged_products_are_hashable() -> None:
    make = ox.lax.RaggedDotDimensionNumbers
    theirs = jax.lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0])
    one, other = (make((([1], [1]), ([], [])), axes, axes) for axes in ([0], (0,)))
    assert one == other
    assert hash(one) == hash(other)
    assert one != make((([1], [1]), ([], [])), [0], [])
    assert repr(one) == repr(theirs)


SCALED: dict[str, Any] = {
    "no scales": (floats(3, 8), floats(8, 2), None, None),
    "scales": (floats(3, 8), floats(8, 2), floats(3, 2), floats(4, 2)),
    "batched": (floats(2, 3, 8), floats(2, 8, 2), floats(2, 3, 1), None),
}


def test_scaled_local_and_wide_products() -> None:
    rows = []
    for name, (lhs, rhs, *scales) in SCALED.items():
        present = [s for s in scales if s is not None]

        def scaled(m: Any, x: Any, y: Any, *given: Any, scales: Any = scales, **o: Any) -> Any:
            left = iter(given)
            a, b = (None if s is None else next(left) for s in scales)
            return PACKAGES[m].lax.scaled_dot(x, y, lhs_scale=a, rhs_scale=b, **o)

        rows += [
            row(name, scaled, lhs, rhs, *present),
            row(f"{name} float32", lambda m, *xs, f=scaled: f(
                m, *xs, preferred_element_type=m.float32), lhs, rhs, *present,
                rtol=2e-2, atol=2e-2),
        ]  # fmt: skip
    for dtype in ("int8", "uint8", "int16", "int32", "uint32"):
        limits = np.iinfo(dtype)
        values = [limits.min, limits.max, 1, 3, limits.max // 2, limits.max - 7, limits.min // 3]
        x, y = np.meshgrid(np.asarray(values, dtype), np.asarray(values, dtype))
        rows.append(row(f"mulhi {dtype}", lambda m, x, y: PACKAGES[m].lax.mulhi(x, y), x, y))
    rows += [
        row("local 1d", lambda m, x, k: PACKAGES[m].lax.conv_general_dilated_local(
            x, k, (1,), "VALID", (3,)), floats(2, 2, 7), floats(4, 6, 5), rtol=1e-5, atol=1e-5),
        row("local 2d", lambda m, x, k: PACKAGES[m].lax.conv_general_dilated_local(
            x, k, (2, 1), "SAME", (2, 3), dimension_numbers=("NWHC", "HWIO", "NHWC")),
            floats(1, 5, 6, 2), floats(3, 5, 12, 4), rtol=1e-5, atol=1e-5),
        row("broadcast_like", lambda m, x: PACKAGES[m].lax.broadcast_like(x, m.ones((3, 2))),
            floats(2)),
        row("stage", lambda m, x: [PACKAGES[m].lax.stage(v) for v in (x, 2.5)], floats(2)),
    ]  # fmt: skip
    check(rows)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_mulhi_of_wide_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, 1, 3, 2**40 + 12345, limits.max - 7, limits.min // 3]
    x, y = np.meshgrid(np.asarray(values, dtype), np.asarray(values, dtype))
    expected = [int(a) * int(b) >> 64 for a, b in zip(x.flat, y.flat, strict=True)]
    with ox.enable_x64(True):
        result = ox.lax.mulhi(x, y)
        assert result.dtype == dtype
        np.testing.assert_array_equal(np.asarray(result).ravel(), np.asarray(expected, dtype))


MORE_ERRORS: dict[str, Any] = {
    "mulhi of floats": lambda lax: lax.mulhi(1, 2.0),
    "mulhi of two dtypes": lambda lax: lax.mulhi(np.int8(1), np.int16(1)),
    "broadcast_like": lambda lax: lax.broadcast_like(np.ones((2, 3)), np.ones(3)),
    "negative tolerance": lambda lax: lax.Tolerance(-1.0),
    "no tolerance": lambda lax: lax.Tolerance(),
    "scaled ranks": lambda lax: lax.scaled_dot(np.ones((2, 3)), np.ones((1, 3, 2))),
    "scaled vectors": lambda lax: lax.scaled_dot(np.ones(2), np.ones(2)),
    "a scale of one element": lambda lax: lax.scaled_dot(
        np.ones((2, 3)), np.ones((3, 2)), lhs_scale=np.ones((2, 3))
    ),
    "a scale that does not divide": lambda lax: lax.scaled_dot(
        np.ones((2, 3)), np.ones((3, 2)), lhs_scale=np.ones((2, 2))
    ),
    "local shapes": lambda lax: lax.conv_general_dilated_local(
        np.ones((1, 2, 5), "f"), np.ones((4, 6, 4), "f"), (1,), "VALID", (3,)
    ),
}


@pytest.mark.parametrize("name", MORE_ERRORS)
def test_errors_are_of_the_classes_of_jax(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        MORE_ERRORS[name](jax.lax)
    with pytest.raises(ox.errors.TraceError) as ours:
        MORE_ERRORS[name](ox.lax)
    assert issubclass(ours.type, theirs.type), (ours.type, theirs.value)


def test_values_of_shapes_and_dtypes() -> None:
    for shape in ((), (2, 3)):
        expected = np.asarray(jax.lax.shape_as_value(shape))
        np.testing.assert_array_equal(ox.lax.shape_as_value(shape), expected)
    assert ox.lax.dtype(1.5) == jax.lax.dtype(1.5)
    tolerance = ox.lax.Tolerance(rtol=1e-3, ulps=2)
    assert (tolerance.atol, tolerance.rtol, tolerance.ulps) == (0.0, 1e-3, 2)
