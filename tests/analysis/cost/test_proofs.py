"""The count of a loop is proved or unknown: limits of arithmetic, lanes and shapes."""

from __future__ import annotations

import numpy as np
import pytest

import olympus as ox
import olympus.numpy as jnp
from olympus import lax
from olympus_core.analysis.cost.cost import cost_of_module
from olympus_core.mlir import bindings as mlir

X = ox.ShapeDtypeStruct((), "float16")


def counted(goes_on, step, start):
    """Return the number of iterations of a loop by its cost, or None if it is unknown."""

    def f(x):
        return lax.while_loop(
            lambda c: goes_on(c[0]), lambda c: (step(c[0]), c[1] * 2.0), (start, x)
        )[1]

    figures = ox.jit(f).lower(X).cost()
    by = {row.key: row.flops for row in figures.by("dtype")}
    return None if figures.unknown else by.get("float16", 0)


def up(i):
    return i + i.dtype.type(1)


@pytest.mark.parametrize(
    ("goes_on", "step", "start"),
    [
        (lambda i: i < jnp.float32(300).astype("uint8"), up, np.uint8(0)),
        (lambda i: i < jnp.float32(-1).astype("uint8"), up, np.uint8(0)),
        (lambda i: (i < jnp.float32(1e10).astype("int32")) & (i < 5), up, np.int32(0)),
        (lambda i: (i < jnp.float32(np.nan).astype("int32")) & (i < 5), up, np.int32(0)),
        (lambda i: lax.rem(jnp.int32(5), i) != 5, lambda i: i - 1, np.int32(4)),
        (lambda i: lax.div(np.int8(-128), i) != 1, lambda i: i - np.int8(1), np.int8(2)),
        (lambda i: lax.shift_left(jnp.int32(1), i) != 0, up, np.int32(28)),
        (lambda i: lax.shift_right_logical(jnp.int32(-1), i) != 0, up, np.int32(28)),
        (lambda i: lax.abs(i) != 1, up, np.int8(-128)),
        (lambda t: lax.max(t, np.float32(np.nan)) < 3, up, np.float32(0)),
        (lambda t: t > 0, lambda t: t * np.float32(0.5), np.float32(1e-36)),
        (lambda t: t * 3 + np.float32(0.1) < 2, lambda t: t + np.float32(0.1), np.float32(0)),
        (lambda t: t / np.float32(49) < 1, up, np.float32(0)),
        (lambda i: i.astype("float32") < 2**24 + 3, up, np.int32(2**24)),
    ],
)
def test_loops_on_arithmetic_that_backends_may_choose_are_not_counted(goes_on, step, start):
    assert counted(goes_on, step, start) is None


@pytest.mark.parametrize(
    ("goes_on", "step", "start", "trips"),
    [
        (lambda i: i < jnp.float32(7.9).astype("uint8"), up, np.uint8(0), 7),
        (
            lambda i: lax.div(np.int8(-128), np.int8(2)) < i,
            lambda i: i - np.int8(1),
            np.int8(0),
            64,
        ),
        (lambda i: lax.rem(np.int32(-7), np.int32(4)) < i, lambda i: i - 1, np.int32(0), 3),
        (lambda i: lax.shift_right_logical(i, np.int32(1)) != 0, lambda i: i // 2, np.int32(40), 5),
        (lambda i: lax.shift_right_arithmetic(np.int8(-64), i) < -1, up, np.int8(0), 6),
        (lambda t: t > 0.5, lambda t: t * np.float32(0.9), np.float32(1), 7),
        (lambda t: t / np.float32(4) < 2, up, np.float32(0), 8),
        (lambda i: i.astype("float32") < 2.5, up, np.int32(0), 3),
    ],
)
def test_loops_on_arithmetic_that_all_backends_share_are_counted(goes_on, step, start, trips):
    assert counted(goes_on, step, start) == trips


LOOP = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %start = stablehlo.constant dense<{start}> : tensor<{kind}>
  %one = stablehlo.constant dense<1> : tensor<{kind}>
  %bound = stablehlo.constant dense<{bound}> : tensor<{over}>
  %false = stablehlo.constant dense<{init}> : tensor<i1>
  %r:2 = stablehlo.while(%i = %start, %y = %x) : tensor<{kind}>, tensor<4xf32>
  cond {{
    %j = {spread}
    %p = stablehlo.compare {test}, %j, %bound : (tensor<{over}>, tensor<{over}>) -> tensor<{pred}>
    %q = stablehlo.reduce(%p init: %false) applies {of} across dimensions = [{axes}]
      : (tensor<{pred}>, tensor<i1>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }} do {{
    %k = stablehlo.add %i, %one : tensor<{kind}>
    %z = stablehlo.add %y, %y : tensor<4xf32>
    stablehlo.return %k, %z : tensor<{kind}>, tensor<4xf32>
  }}
  return %r#1 : tensor<4xf32>
}}"""


def trips_of(test, start, bound, operation="stablehlo.or", bits=32):
    """Return the number of iterations of a loop over lanes by its cost, or None if unknown."""
    start, bound = np.asarray(start), np.asarray(bound)
    sizes = "x".join(map(str, bound.shape))
    kind, over = f"{start.size}xi{bits}", f"{sizes}xi{bits}"
    spread = f"stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<{kind}>) -> tensor<{over}>"
    text = LOOP.format(
        start=start.tolist(),
        bound=bound.tolist(),
        kind=kind,
        over=over,
        pred=f"{sizes}xi1",
        init="false" if operation == "stablehlo.or" else "true",
        spread=spread,
        test=test,
        of=operation,
        axes=", ".join(map(str, range(bound.ndim))),
    )
    flops = cost_of_module(mlir.parsed(text)).flops
    return None if flops is None else flops // 4


def test_lanes_that_advance_together_are_counted():
    assert trips_of("LT", [0, 1], [3, 5]) == 4
    assert trips_of("NE", [0, 1], [4, 5]) == 4
    assert trips_of("NE", [0, 1], [4, 5], operation="stablehlo.and") == 4
    assert trips_of("NE", [0, 0], [3, 5], operation="stablehlo.and") == 3


def test_lanes_that_do_not_end_in_the_same_step_have_no_count():
    assert trips_of("NE", [0, 0], [3, 5]) is None
    assert trips_of("LT", [0, 120], [100, 121], bits=8) is None  # the second wraps and goes on


def test_a_counter_that_is_broadcast_to_more_dimensions_is_counted():
    assert trips_of("LT", [0, 10], [[3, 12], [11, 11]]) == 12


def test_a_reduction_over_no_elements_is_its_initial_value():
    text = """
    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %none = stablehlo.constant dense<false> : tensor<0xi1>
      %true = stablehlo.constant dense<true> : tensor<i1>
      %r = stablehlo.while(%y = %x) : tensor<4xf32>
      cond {
        %q = stablehlo.reduce(%none init: %true) applies stablehlo.and across dimensions = [0]
          : (tensor<0xi1>, tensor<i1>) -> tensor<i1>
        stablehlo.return %q : tensor<i1>
      } do {
        %z = stablehlo.add %y, %y : tensor<4xf32>
        stablehlo.return %z : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    }"""
    assert cost_of_module(mlir.parsed(text)).flops is None  # it does not end
