"""Programs read from files of StableHLO, MHLO, HLO and `jax.export`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus
from olympus.errors import ArgumentError, ArtifactError, EntryError, UsageError
from olympus.interop import stablehlo

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
ADD = """
func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
MHLO = """
func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "mhlo.add"(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""


def f(params: Any, x: Any) -> Any:
    return {"loss": jnp.tanh(x @ params["w"]).sum(), "y": x * 2}


PARAMS = {"w": np.full((4, 4), 0.25, np.float32)}
LOWERED = jax.jit(f).lower(PARAMS, X)
FORMATS = {
    "text": lambda: LOWERED.as_text().encode(),
    "text with locations": lambda: LOWERED.as_text(debug_info=True).encode(),
    "hlo text": lambda: LOWERED.as_text(dialect="hlo").encode(),
    "hlo proto": lambda: LOWERED.compiler_ir("hlo").as_serialized_hlo_module_proto(),
    "portable artifact": lambda: jax.export.export(jax.jit(f))(PARAMS, X).mlir_module_serialized,
    "jax.export": lambda: bytes(jax.export.export(jax.jit(f))(PARAMS, X).serialize()),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_read_and_computes_the_same(name: str) -> None:
    compiled = stablehlo.read(FORMATS[name]()).lower().compile()
    loss, y = compiled(PARAMS["w"], X)
    want = f(PARAMS, X)
    np.testing.assert_allclose(loss, want["loss"], rtol=1e-6)
    np.testing.assert_array_equal(y, want["y"])


def test_mhlo_is_converted() -> None:
    one = np.ones(3, np.float32)
    assert np.asarray(stablehlo.read(MHLO.encode()).lower().compile()(one, one)).tolist() == [2] * 3


def test_a_file_gives_the_names_of_arguments_and_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "step.v1.mlir"
    file.write_text(LOWERED.as_text(debug_info=True))
    traced = stablehlo.read(file)
    assert traced.fun_name == "step"
    assert traced.arg_names == ("params['w']", "x")
    assert stablehlo.read(ADD.encode()).arg_names == ("arg0", "arg1")


def test_the_name_of_a_file_need_not_be_text(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.mlir")
    path.write_text(ADD)
    one = np.ones(3, np.float32)
    assert np.asarray(stablehlo.read(path).lower().compile()(one, one)).tolist() == [2] * 3


def test_a_number_may_be_transposed_beside_a_convolution() -> None:
    text = """
    func.func @main(%x: tensor<1x1x2xf32>, %w: tensor<1x1x1xf32>)
        -> (tensor<1x1x2xf32>, tensor<f32>) {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0],
        window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
        : (tensor<1x1x2xf32>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
      %1 = stablehlo.constant dense<3.0> : tensor<f32>
      %2 = stablehlo.transpose %1, dims = [] : (tensor<f32>) -> tensor<f32>
      return %0, %2 : tensor<1x1x2xf32>, tensor<f32>
    }
    """
    y, three = stablehlo.read(text.encode()).lower().compile()(X[None, :1, :2], X[None, :1, 3:])
    np.testing.assert_array_equal(y, X[None, :1, :2] * X[0, 3])
    assert float(three) == 3


def test_donations_of_a_file_are_donations() -> None:
    text = jax.jit(lambda x, y: (x + y, y), donate_argnums=0).lower(X, X).as_text()
    assert stablehlo.read(text.encode()).donate_argnums == (0,)
    traced = stablehlo.read(ADD.encode()).with_donations([1])
    assert [a.donated for a in traced.arguments] == [False, True]


def test_costs_are_at_the_lines_of_the_program() -> None:
    cost = stablehlo.read(LOWERED.as_text(debug_info=True).encode()).cost()
    lines = {row.key for row in cost.by("line")}
    assert f"{__file__}:{f.__code__.co_firstlineno + 1}" in lines


def test_another_function_of_the_module_is_read() -> None:
    text = ADD.replace("@main", "@add") + ADD.replace("stablehlo.add", "stablehlo.multiply")
    two, three = np.full(3, 2, np.float32), np.full(3, 3, np.float32)
    for name, want in (("add", 5), ("main", 6)):
        compiled = stablehlo.read(text.encode(), function=name).lower().compile()
        assert np.asarray(compiled(two, three)).tolist() == [want] * 3
    with pytest.raises(EntryError, match=r"f\.mlir has no function 'ad'") as error:
        stablehlo.read(text.encode(), function="ad", name="f.mlir")
    assert error.value.hint == "did you mean 'add'?"


@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize(("name", "want"), [("main", 5), ("twice", 10), ("added", 10)])
def test_a_function_that_is_called_and_calls_main_is_read(
    name: str, want: int, as_is: bool
) -> None:
    call = "func.call @main(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>"
    value = "stablehlo.add %arg0, %arg1 : tensor<3xf32>"
    twice = f"{call}\n  %1 = stablehlo.add %0, %0 : tensor<3xf32>".join(ADD.split(value))
    twice = twice.replace("@main(%arg0: ", "@twice(%arg0: ").replace("return %0", "return %1")
    added = ADD.replace(value, call.replace("@main", "@twice")).replace("@main(", "@added(")
    text = ADD + twice + added + ADD.replace("@main", "@main_0")
    two, three = np.full(3, 2, np.float32), np.full(3, 3, np.float32)
    traced = stablehlo.read(text.encode(), function=name, as_is=as_is)
    assert np.asarray(traced.lower().compile()(two, three)).tolist() == [want] * 3


@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize("name", ["main", "other"])
def test_a_function_that_calls_itself_is_an_error(name: str, as_is: bool) -> None:
    """XLA has no recursion, and the process of a compiler that gets one ends."""
    call = "func.call @{}(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>"
    value = "stablehlo.add %arg0, %arg1 : tensor<3xf32>"
    text = ADD.replace(value, call.format("other"))
    text += ADD.replace("@main", "@other").replace(value, call.format(name))
    with pytest.raises(ArtifactError, match=f"function '{name}' calls itself"):
        stablehlo.read(text.encode(), as_is=as_is)


def test_another_operation_than_a_function_has_any_attributes() -> None:
    text = ADD.replace("%arg1 :", "%arg1 {arg_attrs = 1 : i32, res_attrs = [1 : i32]} :")
    one = np.ones(3, np.float32)
    for as_is in (False, True):
        lowered = stablehlo.read(text.encode(), as_is=as_is).lower()
        assert np.asarray(lowered.compile()(one, one)).tolist() == [2] * 3
        assert lowered.cost().flops == 3


def test_a_program_as_is_is_compiled_unchanged() -> None:
    text = ADD.replace("return", "%unused = stablehlo.tanh %arg0 : tensor<3xf32>\n  return")
    traced = stablehlo.read(text.encode(), as_is=True)
    lowered = traced.lower()
    assert "tanh" in lowered.as_text()
    assert "tanh" not in stablehlo.read(text.encode()).lower().as_text()
    one = np.ones(3, np.float32)
    assert np.asarray(lowered.compile()(one, one)).tolist() == [2] * 3
    with pytest.raises(UsageError, match="is compiled unchanged, because it is read with as_is"):
        _ = traced.olympuspr


def test_a_program_with_an_effect_is_compiled_unchanged() -> None:
    text = ADD.replace(
        "return",
        "stablehlo.custom_call @Sharding(%0) {has_side_effect = true} "
        ": (tensor<3xf32>) -> ()\n  return",
    )
    traced = stablehlo.read(text.encode())
    assert "has_side_effect" in traced.lower().as_text()
    with pytest.raises(UsageError, match=r"compiled unchanged, because stablehlo\.custom_call has"):
        _ = traced.olympuspr


@pytest.mark.parametrize("order", [0, 1, 2])
def test_file_of_jax_export_with_derivatives(order: int) -> None:
    exported = jax.export.export(jax.jit(lambda x: jnp.exp(x).sum()))(X)
    traced = stablehlo.read(bytes(exported.serialize(vjp_order=order)))
    np.testing.assert_allclose(traced.lower().compile()(X), np.exp(X).sum(), rtol=1e-6)


def test_dynamic_shapes_are_refined() -> None:
    rows = jax.export.symbolic_shape("rows, 4")
    exported = jax.export.export(jax.jit(lambda x: (x * 2).sum(axis=0)))(
        jax.ShapeDtypeStruct(rows, np.float32)
    )
    content = bytes(exported.serialize())
    shape = olympus.ShapeDtypeStruct((3, 4), "float32")
    for shapes in ([shape], {"arg0": shape}):
        compiled = stablehlo.read(content, shapes=shapes).lower().compile()
        np.testing.assert_allclose(compiled(X), (X * 2).sum(axis=0), rtol=1e-6)
    with pytest.raises(ArgumentError, match="argument 'arg0' has the dynamic shape") as error:
        stablehlo.read(content)
    assert error.value.hint == 'give its shape: --shapes "arg0=f32[8,4]"'
    with pytest.raises(ArgumentError, match=r"has the type tensor<\?x4xf32>, and got f32\[3,5\]"):
        stablehlo.read(content, shapes=[olympus.ShapeDtypeStruct((3, 5), "float32")])


def test_shapes_that_do_not_fit_each_other_are_wrong_arguments() -> None:
    content = ADD.replace("tensor<3xf32>", "tensor<?xf32>").encode()
    shapes = [olympus.ShapeDtypeStruct((n,), "float32") for n in (3, 4)]
    with pytest.raises(
        ArgumentError, match=r"f\.mlir cannot have the given shapes: 'stablehlo\.add"
    ):
        stablehlo.read(content, shapes=shapes, name="f.mlir")


def test_a_text_may_have_a_byte_order_mark() -> None:
    assert stablehlo.read(b"\xef\xbb\xbf" + ADD.encode()).arg_names == ("arg0", "arg1")


def test_a_shape_is_checked_against_the_file() -> None:
    content = ADD.encode()
    shape = olympus.ShapeDtypeStruct((3,), "float32")
    assert stablehlo.read(content, shapes=[shape]).arg_names == ("arg0", "arg1")
    with pytest.raises(ArgumentError, match="the program takes 2 arrays, and 3 shapes are given"):
        stablehlo.read(content, shapes=[shape] * 3)
    with pytest.raises(ArgumentError, match="the program has no argument 'x'"):
        stablehlo.read(content, shapes={"x": shape})
    with pytest.raises(ArgumentError, match=r"has the type tensor<3xf32>, and got s32\[3\]|i32"):
        stablehlo.read(content, shapes=[olympus.ShapeDtypeStruct((3,), "int32")])


WRONG = {
    "an unknown operation": (b"func.func @main() {\n  foo.bar\n}", "line 2, column 3: "),
    "an undefined value": (ADD.replace("%arg0, %arg1 :", "%a, %b :").encode(), "line 3, column"),
    "no StableHLO": (b"hello", "is not StableHLO that can be read: line 1, column 1"),
    "no HLO": (b"HloModule f\nENTRY {", "is not HLO that can be read"),
    "bytes": (b"\xff\xfe\x00\x01", "no HLO protocol buffer, .* line 1 has the byte 0xff"),
    "a text with a byte": (ADD.encode() + b"\xe9", "line 6 has the byte 0xe9"),
    "a text with a zero": (ADD.encode() + b"\0\xe9", "line 6 has the byte 0x00"),
    "cut bytecode": (b"ML\xefR\x0dStableHLO_v1.0", "is not StableHLO"),
    "nothing": (b" \n", "the program is empty"),
    "a module of nothing": (b"module {}", "the program has no function 'main'"),
    "another name": (ADD.replace("@main", "@f").encode(), "the program has no function 'main'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_program_is_an_error(name: str) -> None:
    content, message = WRONG[name]
    with pytest.raises(ArtifactError, match=message):
        stablehlo.read(content)
