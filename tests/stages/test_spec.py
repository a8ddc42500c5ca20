"""The console examples of the ahead-of-time page: what they print is what we print."""

from __future__ import annotations

import re

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp


def f(x, y):
    return 2 * x + y


OLYMPUSPR = """\
{ lambda ; a:i32[] b:i32[]. let
    c:i32[] = mul 2:i32[] a
    d:i32[] = add c b
  in (d,) }"""

MODULE = """\
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<i32>) \
-> (tensor<i32> {olympus.result_info = "result"}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.multiply %c, %arg0 : tensor<i32>
    %1 = stablehlo.add %0, %arg1 : tensor<i32>
    return %1 : tensor<i32>
  }
}
"""

STATIC_MODULE = """\
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32>) \
-> (tensor<i32> {olympus.result_info = "result"}) {
    %c = stablehlo.constant dense<14> : tensor<i32>
    %0 = stablehlo.add %c, %arg0 : tensor<i32>
    return %0 : tensor<i32>
  }
}
"""


@pytest.fixture
def i32_scalar():
    return olympus.ShapeDtypeStruct((), jnp.dtype("int32"))


def test_the_four_stages():
    traced = olympus.jit(f).trace(3, 4)
    assert str(traced.olympuspr) == OLYMPUSPR
    lowered = traced.lower()
    assert lowered.as_text() == MODULE
    compiled = lowered.compile()
    assert compiled.cost_analysis()["flops"] == 2.0
    assert repr(compiled(3, 4)) == "Array(10, dtype=int32, weak_type=True)"


def test_arguments_may_be_shapes_and_dtypes(i32_scalar):
    compiled = olympus.jit(f).trace(i32_scalar, i32_scalar).lower().compile()
    assert repr(compiled(3, 4)) == "Array(10, dtype=int32)"


@pytest.mark.parametrize(
    ("make", "called_with"),
    [(lambda: jnp.arange(3), "int32[3]"), (lambda: jnp.float32(72.0), "float32[]")],
)
def test_incompatible_arguments_are_a_type_error(i32_scalar, make, called_with):
    compiled = olympus.jit(f).trace(i32_scalar, i32_scalar).lower().compile()
    message = (
        "Argument types differ from the types for which this computation was compiled. "
        "Perhaps you are calling the compiled executable with a different enable_x64 mode than "
        "when it was AOT compiled? The mismatches are:\n"
        f"Argument 'x' compiled with int32[] and called with {called_with}\n"
        f"Argument 'y' compiled with int32[] and called with {called_with}"
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$") as caught:
        compiled(make(), make())
    assert type(caught.value).__qualname__ == "TypeError"  # as a traceback shows it


def test_static_arguments():
    lowered = olympus.jit(f, static_argnums=0).trace(7, 8).lower()
    assert lowered.as_text() == STATIC_MODULE
    assert repr(lowered.compile()(5)) == "Array(19, dtype=int32, weak_type=True)"


def test_a_static_argument_has_to_be_a_value(i32_scalar):
    message = re.escape("unsupported operand type(s) for *: 'int' and 'ShapeDtypeStruct'")
    with pytest.raises(TypeError, match=message):
        olympus.jit(f, static_argnums=0).trace(i32_scalar, i32_scalar)
    compiled = olympus.jit(f, static_argnums=0).trace(10, i32_scalar).lower().compile()
    assert repr(compiled(5)) == "Array(25, dtype=int32)"


def test_a_compiled_function_takes_no_tracers():
    compiled = olympus.jit(f).trace(3, 4).lower().compile()
    with pytest.raises(TypeError, match="Cannot apply OLYMPUS transformations"):
        olympus.jit(compiled)(3, 4)


def test_debug_info_has_the_users_line_and_scope():
    def g(x):
        with olympus.named_scope("head"):
            return jnp.sin(x)

    text = olympus.jit(g).trace(np.float32(1)).lower().as_text(debug_info=True)
    assert f'"{__file__}"' in text
    assert "jit_g/head/sin" in text
    assert "loc(" not in olympus.jit(g).trace(np.float32(1)).lower().as_text()
