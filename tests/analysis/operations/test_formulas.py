"""Figures of operations and models against closed formulas."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import olympus as ox
import olympus.numpy as jnp
from benchmarks.programs import load_source
from olympus import lax, nn
from olympus_core.analysis.operations.view import WindowAxis

EXAMPLES = Path(__file__).parents[3] / "examples"


def f32(*shape: int):
    return ox.ShapeDtypeStruct(shape, "float32")


def cost(f, *args, trips=None):
    return ox.jit(f).lower(*args).cost(trips)


def test_a_dense_layer_costs_a_product_an_addition_and_its_function():
    figures = cost(lambda x, w, b: jnp.tanh(x @ w + b), f32(8, 32), f32(32, 64), f32(64))
    assert figures.flops == 2 * 8 * 32 * 64 + 8 * 64
    assert figures.matmul_flops == {"float32": 2 * 8 * 32 * 64}
    assert figures.transcendentals == 8 * 64
    assert figures.io_bytes == 4 * (8 * 32 + 32 * 64 + 64 + 8 * 64)


def test_a_batched_product_is_counted_for_its_dtype():
    a, b = ((5, 8, 16), "bfloat16"), ((5, 16, 4), "bfloat16")
    figures = cost(jnp.matmul, *(ox.ShapeDtypeStruct(*x) for x in (a, b)))
    assert figures.flops == 2 * 5 * 8 * 16 * 4
    assert figures.matmul_flops == {"bfloat16": figures.flops}
    assert figures.bytes == 2 * (5 * 8 * 16 + 5 * 16 * 4 + 5 * 8 * 4)


def test_a_product_of_integers_counts_as_a_product_without_flops():
    a = ox.ShapeDtypeStruct((8, 16), "int8")
    figures = cost(lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ()))), a, a)
    assert figures.flops == 0
    assert figures.matmul_flops == {"int8": 2 * 8 * 8 * 16}


def test_complex_arithmetic_counts_its_real_operations():
    x = ox.ShapeDtypeStruct((7,), "complex64")
    assert cost(lambda x, y: x + y, x, x).flops == 2 * 7
    assert cost(lambda x, y: x * y, x, x).flops == 6 * 7
    assert cost(lambda x, y: x / y, x, x).flops == 11 * 7
    m = ox.ShapeDtypeStruct((3, 4), "complex64")
    assert cost(lambda x: x @ x.T, m).matmul_flops == {"complex64": 8 * 3 * 4 * 3}


def test_integers_have_no_flops():
    figures = cost(lambda i: jnp.sort(i * 2 + 1) ** 3, ox.ShapeDtypeStruct((9,), "int32"))
    assert (figures.flops, figures.transcendentals) == (0, 0)
    assert figures.operations


LAYOUTS = [
    ("NHWC", "HWIO", "NHWC"),
    ("NCHW", "OIHW", "NCHW"),
    ("NCHW", "HWIO", "NHWC"),
    ("HWNC", "IHWO", "CNHW"),
]
WINDOWS = [
    {"window_strides": (1, 1), "padding": "VALID"},
    {"window_strides": (2, 1), "padding": "SAME"},
    {"window_strides": (1, 2), "padding": [(2, 1), (0, 3)], "rhs_dilation": (2, 1)},
    {"window_strides": (1, 1), "padding": [(1, 1), (2, 2)], "lhs_dilation": (2, 3)},
    {"window_strides": (2, 3), "padding": [(3, 0), (-1, 4)], "lhs_dilation": (3, 2)},
]


def shaped_as(names: str, sizes: dict[str, int]):
    return f32(*(sizes[name] for name in names))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids="-".join)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution_counts_the_taps_on_elements_as_xla_does(layout, window, groups):
    x = shaped_as(layout[0], {"N": 3, "H": 9, "W": 8, "C": 4})
    k = shaped_as(layout[1], {"H": 3, "W": 2, "I": 4 // groups, "O": 6})

    def f(x, k):
        return lax.conv_general_dilated(
            x, k, dimension_numbers=layout, feature_group_count=groups, **window
        )

    lowered = ox.jit(f).lower(x, k)
    figures = lowered.cost()
    assert figures.flops == lowered.cost_analysis()["flops"]
    assert figures.matmul_flops == {"float32": figures.flops}


def test_each_gradient_of_a_convolution_costs_the_same_as_the_convolution():
    def f(x, k):
        return lax.conv_general_dilated(x, k, (2, 2), "SAME").sum()

    forward = cost(f, f32(2, 3, 8, 8), f32(5, 3, 3, 3)).matmul_flops["float32"]
    gradients = cost(ox.grad(f, (0, 1)), f32(2, 3, 8, 8), f32(5, 3, 3, 3))
    assert gradients.matmul_flops["float32"] == 2 * forward  # the convolution itself is dead code


def test_the_taps_of_a_window_agree_with_a_loop_in_python():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        base, size = rng.integers(1, 8), rng.integers(1, 5)
        stride, holes, spread = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 4)
        low, high = (int(n) for n in rng.integers(-3, 6, 2))
        extent = (base - 1) * holes + 1
        outputs = (extent + low + high - (size - 1) * spread - 1) // stride + 1
        if outputs < 1:
            continue
        places = (
            out * stride + k * spread - low
            for out, k in itertools.product(range(outputs), range(size))
        )
        taps = sum(0 <= p < extent and p % holes == 0 for p in places)
        window = WindowAxis(size, stride, (low, high), holes, spread)
        assert window.taps(base, outputs) == taps, window


def test_attention_costs_its_two_products_and_a_softmax():
    n, d, heads = 16, 8, 4

    def attention(q, k, v):
        scores = jnp.einsum("hqd,hkd->hqk", q, k)
        return jnp.einsum("hqk,hkd->hqd", nn.softmax(scores), v)

    figures = cost(attention, *[f32(heads, n, d)] * 3)
    assert figures.matmul_flops == {"float32": 4 * heads * n * n * d}
    assert figures.transcendentals == heads * n * n


def test_a_training_step_of_gpt_2_costs_six_flops_per_weight_and_token_plus_attention():
    gpt = load_source(EXAMPLES / "gpt" / "gpt.py", "olympus")
    tokens, width, layers, heads, vocabulary = 64, 64, 2, 4, 256
    params = ox.eval_shape(gpt.tiny)

    def loss(params, x):
        return nn.log_softmax(gpt.forward(params, x, n_head=heads)).sum()

    x = ox.ShapeDtypeStruct((1, tokens), "int32")
    figures = ox.jit(ox.grad(loss)).trace(params, x).lower(repeats="off").cost()
    weights = layers * 12 * width * width + vocabulary * width
    attention = layers * 4 * tokens * tokens * width
    assert figures.matmul_flops == {"float32": 6 * weights * tokens + 3 * attention}
    other_flops = figures.flops - figures.matmul_flops["float32"]
    assert 0 < other_flops < 0.1 * figures.flops  # layer norms, softmax and the sums of biases


@pytest.mark.parametrize("n", [8, 12, 64])
def test_an_fft_costs_five_n_log_n(n):
    z = ox.ShapeDtypeStruct((3, n), "complex64")
    assert cost(jnp.fft.fft, z).flops == 3 * round(5 * n * math.log2(n))
    assert cost(jnp.fft.rfft, f32(3, n)).flops == 3 * round(2.5 * n * math.log2(n))
    square = ox.ShapeDtypeStruct((n, n), "complex64")
    assert cost(jnp.fft.fft2, square).flops == round(5 * n * n * math.log2(n * n))


def flops_of(figures, name: str) -> int:
    return sum(row.flops for row in figures.by("operation") if name in row.key)


def test_the_cost_of_factorizations_has_their_leading_terms():
    m, n = 10, 6
    square, tall = f32(n, n), f32(m, n)
    assert (
        flops_of(cost(jnp.linalg.cholesky, square), "cholesky")
        + flops_of(cost(jnp.linalg.cholesky, square), "potrf")
        == n**3 // 3
    )
    assert flops_of(cost(lax.linalg.lu, square), "getrf") == 2 * n**3 // 3
    assert flops_of(cost(lax.linalg.lu, tall), "getrf") == m * n * n - n**3 // 3
    qr = cost(jnp.linalg.qr, tall)
    assert flops_of(qr, "geqrf") == 2 * m * n * n - 2 * n**3 // 3
    assert flops_of(qr, "orgqr") == 2 * m * n * n - 2 * n**3 // 3
    assert flops_of(cost(jnp.linalg.eigh, square), "syevd") == 9 * n**3
    assert flops_of(cost(lambda a: jnp.linalg.eigvals(a), square), "geev") == 10 * n**3
    assert flops_of(cost(lambda a: jnp.linalg.eig(a), square), "geev") == 25 * n**3
    svd = cost(lambda a: jnp.linalg.svd(a, full_matrices=False), tall)
    assert flops_of(svd, "gesdd") == 14 * m * n * n + 8 * n**3
    values = cost(lambda a: jnp.linalg.svd(a, compute_uv=False), tall)
    assert flops_of(values, "gesdd") == 4 * m * n * n - 4 * n**3 // 3


def test_a_triangular_system_costs_the_square_of_its_size_per_column():
    def solve(a, b):
        return lax.linalg.triangular_solve(a, b, left_side=True)

    assert cost(solve, f32(6, 6), f32(6, 5)).flops == 36 * 5
    batched = cost(solve, f32(3, 6, 6), f32(3, 6, 5))
    assert batched.flops == 3 * 36 * 5
    z = [ox.ShapeDtypeStruct(s, "complex64") for s in ((6, 6), (6, 5))]
    assert cost(solve, *z).flops == 4 * 36 * 5


def test_a_window_of_a_whole_axis_for_each_result_is_one_reduction():
    def sums(x, padding):
        return lax.reduce_window(x, np.float32(0), lax.add, (1, 15), (1, 1), padding)

    assert cost(lambda x: sums(x, ((0, 0), (7, 7))), f32(4, 8)).flops == 4 * 7
    assert cost(lambda x: sums(x, ((0, 0), (6, 8))), f32(4, 8)).flops == 4 * 8 * 14


def test_a_cumulative_sum_adds_each_element_once():
    assert cost(lambda x: jnp.cumsum(x, axis=1), f32(4, 100)).flops == 4 * 99


def test_bytes_are_the_bytes_read_and_written():
    row = 4 * 8
    assert cost(lambda x: x + 1.0, f32(8)).bytes == 3 * row
    assert cost(lambda x: x[2:4], f32(8)).bytes == 2 * 2 * 4
    assert cost(lambda x: jnp.concatenate([x, x]), f32(8)).bytes == 4 * row
    # only the changed elements are written
    assert cost(lambda x: x.at[2:4].set(1.0), f32(8)).bytes < 2 * row


def test_a_constant_counts_once_in_the_bytes_of_inputs():
    table = np.arange(10.0, dtype=np.float32)
    figures = cost(lambda x: x * table + table, f32(10))
    assert figures.io_bytes == 3 * 40
    # a constant of equal elements is stored as one element
    assert cost(lambda x: x * 2.0, f32(10)).io_bytes == 2 * 40 + 4
