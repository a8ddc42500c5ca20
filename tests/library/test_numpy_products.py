"""The products of olympus.numpy, and lax's contractions and windows, against JAX's."""

from __future__ import annotations

import functools
from typing import Any

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy
import ml_dtypes
import numpy as np
import pytest

import olympus as ox
from olympus.errors import DTypeError
from tests.drawn import examples
from tests.library.oracle import Row, check, row

jnp, lax = ox.numpy, ox.lax


def values(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    """Return small numbers of a dtype whose products are exact."""
    rng = np.random.default_rng(seed + sum(shape))
    x = rng.integers(-3, 4, shape) / 2
    if dtype == "complex64":
        return (x + 1j * rng.integers(-2, 3, shape)).astype(dtype)
    return x.astype(getattr(ml_dtypes, dtype, dtype))


def named(name: str, *args: Any, **options: Any) -> Row:
    label = f"{name} {[getattr(a, 'shape', a) for a in args]} {options}"
    return row(label, lambda np_like, *given: getattr(np_like, name)(*given, **options), *args)


SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (7, 3, 4)),
    ((1, 7, 2, 3), (5, 1, 3, 4)),
    ((3,), (5, 3, 4)),
    ((7, 1, 2, 3), (1, 5, 3, 4)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
]


def test_matmul_of_all_ranks() -> None:
    check([named("matmul", values(*a), values(*b, seed=1)) for a, b in SHAPES])


def test_dot_and_kron_and_outer() -> None:
    fits = SHAPES[:6]
    check([named(n, values(*a), values(*b)) for n in ("dot", "kron", "outer") for a, b in fits])
    check([named("dot", np.float32(2), values(2, 3)), named("dot", values(3), np.float32(2))])


def test_vector_products() -> None:
    pairs = [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))]
    rows = [named(n, values(*a), values(*b)) for n in ("inner", "vecdot") for a, b in pairs]
    rows += [named("vecdot", values(3, 2), values(3, 2), axis=0)]
    rows += [named("matvec", values(2, 3), values(3)), named("matvec", values(2, 3), values(5, 3))]
    rows += [named("vecmat", values(2), values(2, 3)), named("vecmat", values(4, 2), values(2, 3))]
    c, d = values(2, 3, dtype="complex64"), values(2, 3, dtype="complex64", seed=5)
    rows += [named(n, c, d) for n in ("vdot", "vecdot", "inner", "cross")]
    rows += [named("vdot", values(2, 3), values(6)), named("vecmat", d[0, :2], c)]
    check(rows)


def test_tensordot() -> None:
    a, b = values(2, 3, 4), values(4, 3, 5)
    check(
        [
            named("tensordot", values(2, 3, 4), values(3, 4, 5)),
            named("tensordot", a, b, axes=((1, 2), (1, 0))),
            named("tensordot", a, b, axes=(2, 0)),
            named("tensordot", a, b, axes=((-1,), (0,))),
            named("tensordot", a, b, axes=0),
            named("tensordot", a, b, axes=1),
        ]
    )


def test_cross() -> None:
    check(
        [
            named("cross", values(5, 3), values(5, 3, seed=1)),
            named("cross", values(5, 3), values(3)),
            named("cross", values(5, 2), values(5, 2, seed=1)),
            named("cross", values(5, 2), values(5, 3)),
            named("cross", values(3, 4), values(2, 4), axis=0),
            named("cross", values(3, 5), values(5, 3), axisa=0, axisc=0),
        ]
    )


@pytest.mark.parametrize("name", ["matmul", "dot", "inner"])
def test_dtypes_of_products(name: str) -> None:
    dtypes = ["float32", "bfloat16", "int8", "int32", "bool", "complex64", "float16"]
    rows = [
        named(name, values(2, 2, dtype=a), values(2, 2, dtype=b)) for a in dtypes for b in dtypes
    ]
    rows += [
        named(name, values(2, 2, dtype=d), values(2, 2, dtype=d), preferred_element_type="float32")
        for d in ("bfloat16", "int8", "float32")
    ]
    flags = values(2, 2, dtype="bool")
    rows += [named(name, flags, flags, preferred_element_type=d) for d in ("int32", "bfloat16")]
    check(rows)


def test_weak_operands_stay_weak() -> None:
    weak = ox.jit(lambda: jnp.dot(2.0, 3.0))()
    assert (weak.weak_type, weak.dtype) == (True, np.float32)
    assert not ox.jit(lambda x: jnp.dot(2.0, x))(values(3)).weak_type


EINSUMS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk", ((2, 3), (3, 4))),
    ("ij,jk->ki", ((2, 3), (3, 4))),
    ("ij , jk -> ik", ((2, 3), (3, 4))),
    ("ii", ((3, 3),)),
    ("ii->i", ((3, 3),)),
    ("iij->j", ((3, 3, 4),)),
    ("iii->i", ((3, 3, 3),)),
    ("ij->", ((2, 3),)),
    ("ba", ((2, 3),)),
    ("...ij,...jk->...ik", ((5, 2, 3), (3, 4))),
    ("...ij,...jk", ((5, 1, 2, 3), (6, 3, 4))),
    ("i...->...", ((2, 3),)),
    ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))),
    ("i,j", ((2,), (3,))),
    ("i,i->i", ((3,), (3,))),
    ("ij,ij", ((1, 3), (2, 3))),
    ("ij,kj->ik", ((2, 3), (1, 3))),
    ("aab,bc->ac", ((2, 2, 3), (3, 4))),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5))),
    ("a,b,c->cab", ((2,), (3,), (4,))),
    ("ij,ij,ij->ij", ((2, 3), (2, 3), (2, 3))),
    ("ijk,ilm,njm,nlk->n", ((2, 3, 4), (2, 5, 6), (7, 3, 6), (7, 5, 4))),
    (",i", ((), (3,))),
    ("ij,->j", ((2, 3), ())),
]


def test_einsum_calls_another_function_for_its_products() -> None:
    def result(ox: Any) -> tuple[Any, list[Any]]:
        calls: list[Any] = []

        def product(*args: Any, **options: Any) -> Any:
            calls.append(args[2] if len(args) > 2 else options.pop("dimension_numbers"))
            return -ox.lax.dot_general(*args[:2], calls[-1])

        x, y = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
        return ox.numpy.einsum("ij,jk->ik", x, y, _dot_general=product).tolist(), calls

    values, calls = result(ox)
    assert (values, calls) == result(jax) == ([[-3] * 4] * 2, [(((1,), (0,)), ((), ()))])


def test_einsum() -> None:
    rows = []
    for subscripts, shapes in EINSUMS:
        operands = [values(*s, seed=i) for i, s in enumerate(shapes)]

        def call(np_like: Any, *xs: Any, text: str = subscripts, **options: Any) -> Any:
            return np_like.einsum(text, *xs, **options)

        rows.append(row(subscripts, call, *operands))
    for one in rows[::3]:
        half = [x.astype(ml_dtypes.bfloat16) for x in one.args]
        preferred = functools.partial(one.call, preferred_element_type="float32")
        rows.append(row(f"{one.id} to float32", preferred, *half))
    check(rows)


def test_einsum_of_lists_of_axes() -> None:
    a, b = values(7, 2, 3), values(7, 3, 4)
    check(
        [
            row("lists", lambda np, x, y: np.einsum(x, [0, 1, 2], y, [0, 2, 3]), a, b),
            row(
                "out", lambda np, x, y: np.einsum(x, [..., 0, 1], y, [..., 1, 2], [..., 2, 0]), a, b
            ),
        ]
    )


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal", [(1, 2), (0, 1)]])
def test_einsum_paths_give_one_result(optimize: Any) -> None:
    operands = [values(2, 3), values(3, 4), values(4, 2)]
    result = jnp.einsum("ij,jk,ki->k", *operands, optimize=optimize)
    np.testing.assert_allclose(np.asarray(result), np.einsum("ij,jk,ki->k", *operands), rtol=1e-5)


def test_einsum_path_contracts_the_small_first() -> None:
    path, text = jnp.einsum_path("ij,jk,kl->il", values(9, 9), values(9, 9), values(9, 1))
    assert path == [(1, 2), (0, 1)]
    assert "ij,jk,kl->il" in text


@st.composite
def _einsum_case(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    sizes = {c: draw(st.integers(1, 4)) for c in "abcd"}
    term = st.text("abcd", max_size=3)
    terms = draw(st.lists(term, min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    output = draw(st.permutations(used)) if used else []
    output = output[: draw(st.integers(0, len(output)))]
    return f"{','.join(terms)}->{''.join(output)}", [tuple(sizes[c] for c in t) for t in terms]


@hypothesis.given(_einsum_case())
@examples(30)
def test_a_drawn_einsum_agrees_with_numpy(case: tuple[str, list[tuple[int, ...]]]) -> None:
    subscripts, shapes = case
    operands = [values(*s, seed=i) for i, s in enumerate(shapes)]
    expected = np.einsum(subscripts, *operands)
    result = ox.jit(lambda *xs: jnp.einsum(subscripts, *xs))(*operands)
    assert result.shape == expected.shape
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-4)


def test_a_matmul_is_one_equation() -> None:
    program = ox.make_olympuspr(jnp.matmul)(values(5, 2, 3), values(3, 4))
    assert [e.primitive.name for e in program.eqns] == ["dot_general"]


def test_the_context_gives_the_precision() -> None:
    def precision(**options: Any) -> Any:
        program = ox.make_olympuspr(lambda x: jnp.matmul(x, x, **options))(values(2, 2))
        return program.eqns[0].params["precision"]

    high, highest = lax.Precision.HIGH, lax.Precision.HIGHEST
    assert precision() is None
    assert precision(precision="tensorfloat32") == (high, high)
    assert precision(precision=("high", "highest")) == (high, highest)
    assert precision(precision="F32_F32_F32") is lax.DotAlgorithmPreset.F32_F32_F32
    with ox.default_matmul_precision("float32"):
        assert precision() == (highest, highest)
        assert precision(precision=high) == (high, high)
    assert precision() is None


def test_algorithms_are_lowered() -> None:
    algorithm = lax.DotAlgorithm(np.float32, np.float32, np.float32)
    for precision in (algorithm, "BF16_BF16_F32_X3", lax.DotAlgorithmPreset.TF32_TF32_F32):
        lowered = ox.jit(lambda x, p=precision: jnp.matmul(x, x, precision=p)).lower(values(2, 2))
        assert "algorithm = <lhs_precision_type" in lowered.as_text()
    with pytest.raises(DTypeError, match="takes float8 operands"):
        ox.jit(lambda x: jnp.matmul(x, x, precision="ANY_F8_ANY_F8_F32")).lower(values(2, 2))


@pytest.mark.parametrize("padding", ["SAME", "VALID", "SAME_LOWER"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_shapes_of_convolutions(padding: str, stride: int) -> None:
    sizes, window, strides = (7, 5), (3, 2), (stride, 1)
    assert lax.padtype_to_pads(sizes, window, strides, padding) == jax.lax.padtype_to_pads(
        sizes, window, strides, padding
    )
    if padding == "SAME_LOWER":
        return
    layouts = ("NHWC", "HWIO", "NHWC")
    for name in ("conv_general_shape_tuple", "conv_transpose_shape_tuple"):
        args = ((2, *sizes, 3), (*window, 3, 4), strides, padding, layouts)
        assert getattr(lax, name)(*args) == getattr(jax.lax, name)(*args), name
    args = (sizes, window, strides, ((1, 0), (0, 2)), (1, 2), (2, 1))
    assert lax.reduce_window_shape_tuple(*args) == jax.lax.reduce_window_shape_tuple(*args)


@pytest.mark.parametrize("padding", ["SAME", "VALID", ((1, 2), (0, 1))])
@pytest.mark.parametrize("consistent", [False, True])
def test_transposed_convolutions(padding: Any, consistent: bool) -> None:
    x, kernel = values(2, 4, 5, 3), values(3, 2, 3, 2)
    options = {"rhs_dilation": (1, 2), "use_consistent_padding": consistent}
    expected = jax.lax.conv_transpose(x, kernel, (2, 3), padding, **options)
    result = lax.conv_transpose(x, kernel, (2, 3), padding, **options)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5, atol=1e-5)
