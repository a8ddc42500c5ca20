"""The convolutions that are other operations on the CPU: their values, and which they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import olympus as ox
from olympus_core.primitives import conv_tiles
from tests.primitives.case import as_plain

NHWC = ("NHWC", "HWIO", "NHWC")
NWC = ("NWC", "WIO", "NWC")


class Conv(NamedTuple):
    """Shapes of array and kernel, the parameters, and the forms of value and gradients."""

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    strides: tuple[int, ...]
    padding: Any
    options: dict[str, Any]
    forms: tuple[str, ...]
    dtype: str = "float32"


NARROW, SUMS = "narrow_convolution", "depthwise_weights"
PADDED, PATCHES, GROUPED = "padded_outputs", "product_of_patches", "grouped_products"
GROUPS, PRODUCT, EXCHANGED = "grouped_weights", "convolution_as_product", "exchanged_convolution"
TILES, PAIRS = "winograd_convolution", "paired_columns"
FORMS = NARROW, SUMS, GROUPS, PRODUCT, EXCHANGED, PADDED, PATCHES, GROUPED, TILES, PAIRS

CONVS = {
    "depthwise": Conv(
        (2, 6, 5, 3), (3, 2, 1, 3), (1, 1), "SAME",
        {"dimension_numbers": NHWC, "feature_group_count": 3}, (NARROW, SUMS),
    ),
    "depthwise, strides and holes": Conv(
        (2, 3, 9, 8), (6, 1, 3, 2), (2, 1), ((1, 2), (0, 1)),
        {"rhs_dilation": (1, 2), "feature_group_count": 3}, (NARROW, SUMS),
    ),
    "depthwise, dilated array": Conv(
        (2, 5, 3), (4, 1, 3), (1,), ((3, -1),),
        {"dimension_numbers": NWC, "lhs_dilation": (2,), "feature_group_count": 3}, (NARROW, SUMS),
    ),
    "depthwise, half": Conv(
        (2, 9, 3), (4, 1, 3), (1,), ((3, 0),),
        {"dimension_numbers": NWC, "feature_group_count": 3}, (NARROW, SUMS), "bfloat16",
    ),
    "narrow groups": Conv(
        (2, 5, 5, 16), (3, 2, 2, 24), (2, 1), "SAME",
        {"dimension_numbers": NHWC, "feature_group_count": 8}, (NARROW, GROUPS),
    ),
    "narrow groups, features first": Conv(
        (2, 32, 5), (8, 4, 3), (1,), ((0, 1),), {"feature_group_count": 8}, (NARROW, GROUPS)
    ),
    "one feature": Conv(
        (2, 6, 6, 1), (3, 3, 1, 4), (1, 1), "VALID", {"dimension_numbers": NHWC}, (NARROW,)
    ),
    "groups": Conv(
        (2, 5, 5, 4), (3, 3, 2, 6), (2, 1), "SAME",
        {"dimension_numbers": NHWC, "feature_group_count": 2}, (GROUPS,),
    ),
    "groups of the batch": Conv(
        (4, 3, 6), (4, 3, 2), (1,), "VALID", {"batch_group_count": 2}, (GROUPS,),
    ),
    "one element": Conv(
        (2, 4, 5, 3), (1, 1, 3, 6), (1, 1), "SAME", {"dimension_numbers": NHWC}, (PRODUCT,)
    ),
    "one element, features first": Conv(
        (2, 3, 4, 5), (6, 3, 1, 1), (1, 1), "SAME", {}, (PRODUCT,)
    ),
    "one element, one image": Conv((1, 3, 4, 5), (6, 3, 1, 1), (1, 1), "SAME", {}, (PRODUCT,)),
    "one element, one image, strides": Conv(
        (1, 3, 4, 5), (6, 3, 1, 1), (2, 3), "VALID", {}, (PRODUCT, EXCHANGED)
    ),
    "one element, one image, half": Conv(
        (1, 3, 4), (6, 3, 1), (1,), "SAME", {}, (PRODUCT,), "bfloat16"
    ),
    "one element, strides": Conv(
        (2, 4, 5, 3), (1, 1, 3, 6), (2, 2), "SAME", {"dimension_numbers": NHWC}, (PRODUCT,)
    ),
    "depthwise, one place": Conv(
        (3, 3, 4), (6, 1, 4), (1,), "VALID", {"feature_group_count": 3}, (NARROW, SUMS)
    ),
    "one element, some places": Conv(
        (2, 3, 5), (6, 3, 1), (1,), ((0, -2),), {}, (PRODUCT,)
    ),
    "one element of each step": Conv((2, 3, 5), (6, 3, 1), (5,), "VALID", {}, (PRODUCT,)),
    "whole array": Conv((2, 3, 7), (5, 3, 3), (4,), "VALID", {"rhs_dilation": (3,)}, (PRODUCT,)),
    "transposed": Conv(
        (2, 5, 4, 3), (3, 2, 3, 4), (1, 1), ((2, 1), (1, 1)),
        {"dimension_numbers": NHWC, "lhs_dilation": (2, 2)}, (EXCHANGED,),
    ),
    "three features": Conv(
        (1, 3, 50, 50), (24, 3, 3, 3), (1, 1), "SAME", {}, (PADDED,)
    ),
    "three features last, strides": Conv(
        (2, 63, 64, 3), (3, 5, 3, 32), (2, 1), "VALID", {"dimension_numbers": NHWC}, (PADDED,)
    ),
    "three features last, pairs of columns": Conv(
        (1, 96, 96, 3), (3, 3, 3, 24), (2, 2), "SAME", {"dimension_numbers": NHWC}, (PAIRS,)
    ),
    "three features last, pairs of columns from an odd one": Conv(
        (2, 49, 64, 3), (5, 4, 3, 32), (1, 2), ((1, 0), (3, 2)), {"dimension_numbers": NHWC},
        (PAIRS,),
    ),
    "three features last, columns that no result reads": Conv(
        (2, 40, 80, 3), (3, 3, 3, 32), (2, 2), ((0, 0), (0, -4)), {"dimension_numbers": NHWC},
        (PADDED,),
    ),
    "few positions": Conv(
        (2, 6, 5, 32), (3, 3, 32, 256), (1, 1), "SAME", {"dimension_numbers": NHWC}, (PATCHES,)
    ),
    "few positions, features first, strides": Conv(
        (1, 64, 9, 9), (256, 64, 2, 3), (2, 2), ((1, 0), (0, 2)), {"rhs_dilation": (2, 1)},
        (PATCHES,),
    ),
    "one element, groups of one image": Conv(
        (1, 64, 16, 18), (128, 32, 1, 1), (1, 1), "VALID", {"feature_group_count": 2}, (GROUPED,)
    ),
    "one element, groups, features last": Conv(
        (2, 12, 12, 128), (1, 1, 32, 128), (1, 1), "VALID",
        {"dimension_numbers": NHWC, "feature_group_count": 4}, (GROUPS,),
    ),
    "one element, groups, strides": Conv(
        (1, 32, 31, 128), (1, 1, 32, 128), (2, 1), "VALID",
        {"dimension_numbers": NHWC, "feature_group_count": 4}, (GROUPED,),
    ),
    "tiles": Conv(
        (1, 23, 25, 48), (3, 3, 48, 64), (1, 1), "SAME", {"dimension_numbers": NHWC}, (TILES,)
    ),
    "tiles, features first, groups": Conv(
        (3, 128, 9, 12), (128, 64, 3, 3), (1, 1), ((2, 0), (0, 1)), {"feature_group_count": 2},
        (TILES,),
    ),
    "tiles of a kernel of 5 x 5": Conv(
        (2, 32, 18, 20), (96, 32, 5, 5), (1, 1), "VALID", {}, (TILES,)
    ),
    "doubles": Conv(
        (2, 5, 3), (3, 1, 3), (1,), "SAME",
        {"dimension_numbers": NWC, "feature_group_count": 3}, (NARROW, SUMS), "float64",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of tiles are a gain only for more products than a test should compute."""
    monkeypatch.setattr(conv_tiles, "_LEAST_PRODUCTS_OF_ARGUMENTS", 0)


def gradients(framework: Any, conv: Conv) -> Any:
    """A function of array, kernel and result: value, gradients and gradients of these."""

    def convolve(x: Any, k: Any) -> Any:
        return framework.lax.conv_general_dilated(x, k, conv.strides, conv.padding, **conv.options)

    def pulled(x: Any, k: Any, t: Any) -> Any:
        out, pull = framework.vjp(convolve, x, k)
        return out, *pull(t)

    def twice(x: Any, k: Any, t: Any) -> Any:
        outs, pull = framework.vjp(pulled, x, k, t)
        return outs, pull(outs)

    return twice


def operands(conv: Conv) -> list[Any]:
    """Array, kernel and cotangent."""
    rng = np.random.default_rng(0)
    x, k = (rng.standard_normal(s).astype(conv.dtype) for s in (conv.lhs, conv.rhs))
    out = ox.eval_shape(
        lambda x, k: ox.lax.conv_general_dilated(x, k, conv.strides, conv.padding, **conv.options),
        x,
        k,
    )
    return [x, k, rng.standard_normal(out.shape).astype(conv.dtype)]


@pytest.mark.parametrize("name", CONVS)
def test_values_and_derivatives_are_jaxs(name: str) -> None:
    conv = CONVS[name]
    with ox.enable_x64(conv.dtype == "float64"), jax.enable_x64(conv.dtype == "float64"):
        xs = operands(conv)
        found = ox.tree.leaves(ox.jit(gradients(ox, conv))(*xs))
        expected = jax.tree.leaves(jax.jit(gradients(jax, conv))(*xs))
    tolerance = {"bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}[conv.dtype]
    for ours, theirs in zip(found, expected, strict=True):
        a, b = as_plain(np.asarray(ours)), as_plain(np.asarray(theirs))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


def called(name: str, *target: Any) -> set[str]:
    """The forms that a convolution's value and gradients are lowered to."""
    conv = CONVS[name]
    with ox.enable_x64(conv.dtype == "float64"):
        text = ox.jit(gradients(ox, conv)).trace(*operands(conv)).lower(*target).as_text()
    return {form for form in FORMS if f"@{form}(" in text}


@pytest.mark.parametrize("name", CONVS)
def test_the_form_is_the_one_that_is_fast(name: str) -> None:
    assert called(name) >= set(CONVS[name].forms)


def test_other_platforms_have_convolutions() -> None:
    assert called("depthwise", ox.Target("tpu", "v5e")) == set()


@pytest.mark.parametrize(
    ("lhs", "rhs", "options"),
    [
        ((2, 8, 8, 4), (3, 3, 4, 4), {}),
        ((2, 8, 8, 4), (3, 3, 2, 4), {"feature_group_count": 2}),
        ((2, 8, 8, 1), (4, 4, 1, 9), {}),
        ((2, 90, 8, 4), (65, 1, 1, 4), {"feature_group_count": 4}),
        ((1, 4, 4, 64), (1, 1, 8, 64), {"feature_group_count": 8}),
        ((1, 4, 4, 16), (3, 3, 2, 128), {"feature_group_count": 8}),
        ((1, 32, 32, 64), (3, 3, 64, 64), {"precision": "highest"}),
        ((1, 32, 32, 64), (3, 3, 64, 64), {"rhs_dilation": (2, 2)}),
    ],
)
def test_what_is_fast_stays(
    lhs: Sequence[int], rhs: Sequence[int], options: dict[str, Any]
) -> None:
    x, k = np.ones(lhs, np.float32), np.ones(rhs, np.float32)
    text = (
        ox.jit(
            lambda x, k: ox.lax.conv_general_dilated(
                x, k, (1, 1), "SAME", dimension_numbers=NHWC, **options
            )
        )
        .trace(x, k)
        .lower()
        .as_text()
    )
    assert "stablehlo.convolution" in text
    assert " call @" not in text


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_the_kernel_of_a_result_without_elements_has_no_gradient(dtype: str) -> None:
    x, k = np.ones((1, 2, 3), dtype), np.ones((4, 2, 5), dtype)
    out, pull = ox.vjp(lambda x, k: ox.lax.conv(x, k, (1,), "VALID"), x, k)
    assert out.shape == (1, 4, 0)
    for found, like in zip(ox.jit(pull)(out), (x, k), strict=True):
        np.testing.assert_array_equal(found, np.zeros_like(like))


def test_mapped_kernels_are_groups() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 2, 6, 4)).astype(np.float32)
    k = rng.standard_normal((3, 3, 4, 5)).astype(np.float32)

    def weights(framework: Any, x: Any, k: Any) -> Any:
        def loss(k: Any, x: Any) -> Any:
            out = framework.lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=NWC)
            return framework.numpy.sum(framework.numpy.sin(out))

        return framework.vmap(framework.grad(loss))(k, x)

    found = ox.jit(lambda x, k: weights(ox, x, k))(x, k)
    np.testing.assert_allclose(found, jax.jit(lambda x, k: weights(jax, x, k))(x, k), 1e-4, 1e-4)


@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("padding", [(-1, 1), (-2, -1), (3, -4), (-4, 4), (-20, 25)])
def test_what_padding_below_0_cuts_off_is_not_read(padding: tuple[int, int], dilation: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, 8, 9)).astype(np.float32)
    k = np.ones((1, 9, 16), np.float32)

    def convolve(x: Any, k: Any) -> Any:
        numbers = ("NWC", "WIO", "NWC")
        return ox.lax.conv_general_dilated(
            x, k, (1,), (padding,), (dilation,), dimension_numbers=numbers
        )

    spread = np.zeros((3, 7 * dilation + 1, 9), np.float32)
    spread[:, ::dilation] = x
    whole = np.pad(spread, ((0, 0), *[[max(n, 0) for n in padding]], (0, 0)))
    first, last = (max(-n, 0) for n in padding)
    expected = whole[:, first : whole.shape[1] - last] @ k[0]
    np.testing.assert_allclose(ox.jit(convolve)(x, k), expected, rtol=1e-5, atol=1e-5)
    text = ox.jit(convolve).lower(x, k).as_text()
    assert not re.search(r"pad = \[\[-|pad = \[\[\d+, -", text)


def test_costs_are_of_the_operations_as_written() -> None:
    x, k = (ox.ShapeDtypeStruct(s, "float32") for s in ((2, 32, 32, 64), (3, 3, 1, 64)))

    def program(x: Any, k: Any) -> Any:
        y = ox.lax.conv_general_dilated(
            x, k, (1, 1), "SAME", dimension_numbers=NHWC, feature_group_count=64
        )
        return ox.numpy.sort(y, axis=1), ox.numpy.argmax(y, axis=2)

    traced = ox.jit(program).trace(x, k)
    for_cpu, for_gpu = traced.lower(), traced.lower(ox.Target("gpu", "h200"))
    assert " call @packed_sort" in for_cpu.as_text()
    for name in ("flops", "matmul_flops", "bytes", "operations"):
        assert getattr(for_cpu.cost(), name) == getattr(for_gpu.cost(), name)
    assert {row.key for row in for_cpu.cost().by("line")} == {
        row.key for row in for_gpu.cost().by("line")
    }
