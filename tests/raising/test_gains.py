"""The decision whether a module is raised, from its operations."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from olympus_core.mlir import bindings as mlir
from olympus_core.raising.gains import BLOCKS, LAYOUTS, gain
from olympus_core.raising.unraisable import UnraisableError


def reason(fun: Callable[..., Any], *shapes: tuple[int, ...], blocks: bool = True) -> str | None:
    """Return the reason to raise a function of float32 arrays of these shapes."""
    arguments = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    content = io.BytesIO()
    module = jax.jit(fun).trace(*arguments).lower(lowering_platforms=("cpu",)).compiler_ir()
    module.operation.write_bytecode(content)
    with mlir.context():
        return gain(mlir.parsed(content.getvalue()), "main", blocks)


def convolution(layout: str, **options: Any) -> Callable[[Any, Any], Any]:
    """Return a convolution with images and results of a layout."""

    def convolved(x: Any, kernel: Any) -> Any:
        numbers = (layout, "HWIO", layout)
        return jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=numbers, **options
        )

    return convolved


def pool(window: tuple[int, int], strides: tuple[int, int]) -> Callable[[Any], Any]:
    """Return the maxima of windows over the last two axes."""
    full = (1, 1, *window), (1, 1, *strides)
    return lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, *full, "VALID")


def looped(fun: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args: jax.lax.fori_loop(0, 3, lambda _, c: fun(c, *args), x)


@pytest.mark.parametrize(
    ("operation", "fun", "shapes"),
    [
        ("sort", jnp.argsort, [(2**16,)]),
        ("sort", lambda x: jnp.sort(x, 0), [(64, 1024)]),
        ("reduce", lambda x: jnp.argmin(x, 1), [(2**14, 64)]),
        ("dot_general", lambda x, g: jnp.einsum("bti,bto->io", x, g), [(8, 64, 128)] * 2),
        (
            "convolution",
            convolution("NHWC", feature_group_count=32),
            [(8, 64, 64, 32), (3, 3, 1, 32)],
        ),
        ("convolution", looped(convolution("NCHW")), [(4, 16, 32, 32), (3, 3, 16, 16)]),
        ("reduce_window", pool((3, 3), (2, 2)), [(1, 64, 112, 112)]),
        ("sort", looped(jnp.sort), [(2**16,)]),
        ("sort", lambda x: jax.jit(lambda x: jnp.sort(x))(x), [(2**16,)]),
    ],
)
def test_operation_with_a_faster_form(
    operation: str, fun: Callable[..., Any], shapes: list[tuple[int, ...]]
) -> None:
    assert reason(fun, *shapes) == f"stablehlo.{operation} has a faster form for the CPU"


def test_a_function_with_a_faster_form() -> None:
    why = reason(lambda x: x + jax.random.normal(jax.random.key(0), (3,)), (3,))
    assert why == "threefry2x32 has a faster form for the CPU"


@pytest.mark.parametrize(
    ("fun", "shapes"),
    [
        (jnp.sort, [(2**15,)]),  # a few calls save less than it takes to compile
        (lambda x: jnp.sort(x.astype(int)), [(2**16,)]),
        (lambda x: jnp.argmin(x, 1), [(2**17, 8)]),
        (lambda x: jnp.argmin(x, 1), [(2**13, 64)]),
        (lambda x: jnp.max(x, 1), [(1024, 64)]),
        (lambda x, y: x @ y, [(256, 256)] * 2),
        (lambda x, y: jnp.einsum("bti,bto->io", x, y), [(2, 8, 16)] * 2),
        (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), [(8, 64, 128), (8, 128, 64)]),
        (convolution("NHWC"), [(8, 32, 32, 16), (3, 3, 16, 16)]),
        (convolution("NCHW"), [(4, 16, 32, 32), (3, 3, 16, 16)]),  # XLA changes its layout
        (pool((3, 3), (2, 2)), [(1, 8, 16, 16)]),
        (pool((112, 112), (1, 1)), [(1, 64, 112, 112)]),  # XLA reduces it as a whole
        (looped(convolution("NHWC")), [(8, 32, 32, 16), (3, 3, 16, 16)]),
        (lambda x: jnp.sin(x) + 1, [(3,)]),
        (lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), [(3,)]),
    ],
)
def test_program_without_a_gain(fun: Callable[..., Any], shapes: list[tuple[int, ...]]) -> None:
    assert reason(fun, *shapes) is None


def test_several_convolutions_in_another_layout() -> None:
    def network(count: int, layout: str) -> Callable[[Any, Any], Any]:
        layer = convolution(layout)

        def apply(x: Any, kernel: Any) -> Any:
            for _ in range(count):
                x = jnp.tanh(layer(x, kernel))
            return x

        return apply

    images, kernel = (8, 16, 64, 64), (3, 3, 16, 16)
    assert reason(network(3, "NCHW"), images, kernel) == LAYOUTS
    assert reason(network(2, "NCHW"), images, kernel) is None
    assert reason(network(3, "NCHW"), (1, 16, 8, 8), kernel) is None
    assert reason(network(3, "NHWC"), (8, 64, 64, 16), kernel) is None


def normalized(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def network(count: int, step: Callable[[Any], Any] = normalized) -> Callable[[Any, Any], Any]:
    """Return a network of `count` layers with a residual connection."""

    def apply(x: Any, weights: Any) -> Any:
        for i in range(count):
            x = x + jnp.tanh(step(step(x)) @ weights[i])
        return jnp.sum(x**2)

    return apply


def test_repeated_layers_are_a_gain_if_they_save_values() -> None:
    shapes = (16, 32), (8, 32, 32)
    assert reason(jax.grad(network(6), 1), *shapes) == BLOCKS
    assert reason(jax.grad(network(6), 1), *shapes, blocks=False) is None
    assert reason(network(6), *shapes) is None  # nothing is saved
    assert reason(jax.grad(network(3), 1), *shapes) is None  # too few
    assert reason(jax.grad(network(6, lambda x: x), 1), *shapes) is None  # too small


def test_equal_products_between_other_operations_are_no_layers() -> None:
    functions = jnp.sin, jnp.cos, jnp.tanh, jnp.exp, jax.nn.sigmoid, jnp.arctan

    def apply(x: Any, weights: Any, is_equal: bool) -> Any:
        for i, function in enumerate(functions):
            for _ in range(8):
                x = (functions[0] if is_equal else function)(x) * x + x
            x = x @ weights[i]
        return jnp.sum(x**2)

    for is_equal, expected in ((True, BLOCKS), (False, None)):
        grad = jax.grad(functools.partial(apply, is_equal=is_equal), 1)
        assert reason(grad, (16, 32), (8, 32, 32)) == expected


def test_repeated_calls_of_a_layer() -> None:
    layer = jax.jit(lambda x, w: x + jnp.tanh(normalized(x) @ w))

    def apply(x: Any, weights: Any) -> Any:
        for i in range(6):
            for _ in range(20):
                x = x / (1 + x**2)
            x = layer(x, weights[i])
        return jnp.sum(x**2)

    assert reason(jax.grad(apply, 1), (16, 32), (8, 32, 32)) == BLOCKS
    assert reason(apply, (16, 32), (8, 32, 32)) is None


def test_repeated_layers_in_a_loop() -> None:
    def step(w: Any, x: Any) -> Any:
        return w - 0.1 * jax.grad(network(6), 1)(x, w)

    assert reason(looped(step), (8, 32, 32), (16, 32)) == BLOCKS


def test_operation_of_a_dynamic_shape_is_no_gain() -> None:
    text = """
func.func @main(%x: tensor<70000xf32>) -> tensor<70000xf32> {
  %y = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<70000xf32>) -> tensor<70000xf32>
  return %y : tensor<70000xf32>
}
"""
    with mlir.context():
        assert gain(mlir.parsed(text.encode()), "main") is not None
        assert gain(mlir.parsed(text.replace("70000", "?").encode()), "main") is None


def test_module_with_more_than_functions_is_refused() -> None:
    with mlir.context(), pytest.raises(UnraisableError, match="is not a function"):
        gain(mlir.parsed(b"module { module @inner {} }"), "main")
