"""A model: its inputs, parameters and free sizes, and the errors of files and calls."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
    save,
)

import olympus
import olympus.interop.onnx as ox
from olympus.errors import ArtifactError, SignatureError, UsageError

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
W = np.arange(6, dtype="float32").reshape(3, 2)
X = np.arange(12, dtype="float32").reshape(4, 3)


def tensor(name: str, dims: Sequence[Any] | None, kind: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def graph(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    **arrays: Any,
) -> GraphProto:
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return helper.make_graph(nodes, "graph", inputs, outputs, weights)


def written(folder: Path, content: GraphProto, functions: Sequence[FunctionProto] = ()) -> Path:
    """Write a model with a graph to a file, and return its path."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    model = helper.make_model(content, opset_imports=opsets, functions=functions)
    save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    outputs = [tensor("z", ["batch", 2]), tensor("y", ["batch", 2])]
    return written(tmp_path, graph(nodes, [tensor("x", ["batch", 3])], outputs, w=W))


def test_the_weights_are_an_argument_or_constants(dense: Path) -> None:
    model = ox.load(dense)
    assert model.inputs == (ox.TensorInfo("x", np.dtype("float32"), ("batch", 3)),)
    assert [info.name for info in model.outputs] == ["z", "y"]
    np.testing.assert_array_equal(model.parameters["w"], W)
    z, y = olympus.jit(model.function())({"w": -W}, X)
    np.testing.assert_array_equal(y, X @ -W)
    np.testing.assert_array_equal(z, np.maximum(X @ -W, 0))
    np.testing.assert_array_equal(olympus.jit(model.function("constants"))(X)[1], X @ W)


def test_an_output_is_selected_by_name(dense: Path) -> None:
    y = ox.load(dense, output="y").function("constants")(X)
    np.testing.assert_array_equal(y, X @ W)
    with pytest.raises(UsageError, match=r"has no output 'q'; it has 'z', 'y'"):
        ox.load(dense, output="q")


def test_a_free_size_gets_a_number(dense: Path) -> None:
    model = ox.load(dense)
    (x,) = model.shapes({"batch": 8})
    assert (x.shape, x.dtype) == ((8, 3), np.float32)
    olympus.jit(model.function("constants", {"batch": 8})).lower(x).compile()
    with pytest.raises(UsageError, match="the free size 'batch'") as refused:
        model.shapes()
    assert refused.value.hint == "pass dims={'batch': 8}"
    with pytest.raises(UsageError, match="no free size 'time'; it has 'batch'"):
        model.function(dims={"time": 8})
    with pytest.raises(UsageError, match="a number from 0 on, not -1"):
        model.shapes({"batch": -1})


def test_calls_are_checked(dense: Path) -> None:
    model = ox.load(dense)
    with pytest.raises(SignatureError, match=r"has the shape \[8, 3\], not \[4, 3\]"):
        model.function("constants", {"batch": 8})(X)
    with pytest.raises(SignatureError, match="an array of float32, not of int32"):
        model.function("constants")(X.astype("int32"))
    with pytest.raises(SignatureError, match="has 1 inputs, and 0 are passed: x"):
        model.function("constants")()
    with pytest.raises(SignatureError, match="a dict with its 1 parameters by name"):
        model.function()({}, X)
    with pytest.raises(UsageError, match="'arguments' or 'constants', not 'none'"):
        model.function("none")
    with pytest.raises(UsageError, match="has no input 'q'"):
        model.function(constants={"q": X})


def test_shape_arithmetic_leaves_no_equations(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    arrays = {"zero": np.zeros(1, "int64"), "rest": np.array([-1, 1])}
    path = written(tmp_path, graph(nodes, [tensor("x", ["n", 3])], [tensor("y", None)], **arrays))
    model = ox.load(path)
    assert not model.parameters and set(model.constants) == {"zero", "rest"}
    traced = olympus.jit(model.function("constants")).trace(*model.shapes({"n": 4}))
    assert [str(e.primitive) for e in traced.olympuspr.eqns] == ["reshape"]


def test_an_input_that_determines_a_shape_is_a_constant(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"])]
    inputs = [tensor("x", [4, 3]), tensor("s", [2], INT64)]
    model = ox.load(written(tmp_path, graph(nodes, inputs, [tensor("y", None)])))
    assert model.shape_inputs == ("s",)
    f = olympus.jit(model.function("constants", constants={"s": np.array([6, 2])}))
    assert f(X).shape == (6, 2)
    with pytest.raises(UsageError, match="needs the value of its input 's'") as refused:
        olympus.jit(model.function("constants"))(X, np.array([6, 2]))
    assert "constants={'s': value}" in str(refused.value.hint)
    with pytest.raises(SignatureError, match=r"'s' .* of int64, .* represent \[2.5, 3.0\]"):
        olympus.jit(model.function("constants", constants={"s": np.array([2.5, 3])}))(X)


def test_integers_of_64_bits_keep_their_type_without_x64(tmp_path: Path) -> None:
    nodes = [helper.make_node("Mul", ["i", "i"], ["j"])]
    content = graph(nodes, [tensor("i", [1], INT64)], [tensor("j", [1], INT64)])
    square = olympus.jit(ox.load(written(tmp_path, content)).function("constants"))
    assert int(square(np.array([2**20]))[0]) == 2**40


def test_a_function_of_the_model_is_called_with_its_attributes(tmp_path: Path) -> None:
    leaky = helper.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.add(name="alpha", ref_attr_name="k", type=AttributeProto.FLOAT)
    body = helper.make_function(
        "own", "Scaled", ["a"], ["b"], [leaky], [helper.make_opsetid("", 21)], ["k"]
    )
    nodes = [helper.make_node("Scaled", ["x"], ["y"], domain="own", k=0.5)]
    content = graph(nodes, [tensor("x", [2])], [tensor("y", [2])])
    f = ox.load(written(tmp_path, content, [body])).function("constants")
    np.testing.assert_array_equal(f(np.array([-2, 2], "float32")), [-1, 2])


def test_a_branch_and_a_loop_depend_on_values(tmp_path: Path) -> None:
    double = graph([helper.make_node("Add", ["a", "a"], ["b"])], [], [tensor("b", [])])
    negate = graph([helper.make_node("Neg", ["a"], ["b"])], [], [tensor("b", [])])
    step = graph(
        [
            helper.make_node("Mul", ["v", "two"], ["w"]),
            helper.make_node("Less", ["w", "a"], ["again"]),
        ],
        [tensor("i", [], INT64), tensor("c", [], BOOL), tensor("v", [])],
        [tensor("again", [], BOOL), tensor("w", [])],
    )
    nodes = [
        helper.make_node("If", ["flag"], ["y"], then_branch=double, else_branch=negate),
        helper.make_node("Loop", ["", "", "one"], ["z"], body=step),
    ]
    content = graph(
        nodes,
        [tensor("a", []), tensor("flag", [], BOOL)],
        [tensor("y", []), tensor("z", [])],
        two=np.float32(2),
        one=np.float32(1),
    )
    model = ox.load(written(tmp_path, content))
    f = olympus.jit(model.function())
    a = np.float32(100)
    assert [float(v) for v in f(model.parameters, a, np.True_)] == [200, 128]
    assert [float(v) for v in f(model.parameters, a, np.False_)] == [-100, 128]


def test_external_data_is_read_inside_the_folder_only(dense: Path, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.bin").write_bytes(W.tobytes())
    (inside / "w.bin").write_bytes(b"1234" + W.tobytes())
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")

    def load(location: str, **entries: int) -> ox.OnnxModel:
        content = graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            [tensor("x", [4, 3])],
            [tensor("y", [4, 2])],
        )
        weight = TensorProto(name="w", data_type=FLOAT, dims=[3, 2])
        weight.data_location = TensorProto.EXTERNAL
        for key, value in {"location": location, **entries}.items():
            weight.external_data.add(key=key, value=str(value))
        content.initializer.append(weight)
        return ox.load(written(inside, content))

    np.testing.assert_array_equal(load("w.bin", offset=4).parameters["w"], W)
    for location in ("../secret.bin", "link.bin", str(tmp_path / "secret.bin")):
        with pytest.raises(ArtifactError, match="outside the folder of the model"):
            load(location)
    for entries in ({"offset": 5, "length": 24}, {"offset": -1}, {"length": 2**60}):
        with pytest.raises(ArtifactError, match="past the end of the file"):
            load("w.bin", **entries)
    with pytest.raises(UsageError, match="is missing"):
        load("absent.bin")


def test_invalid_files_and_operators_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        ox.load(tmp_path / "absent.onnx")
    (tmp_path / "text.onnx").write_bytes(b"not a model")
    with pytest.raises(ArtifactError, match="is not an ONNX model"):
        ox.load(tmp_path / "text.onnx")
    text = [tensor("x", [2], TensorProto.STRING)]
    with pytest.raises(UsageError, match="tensors of type STRING are not supported"):
        ox.load(written(tmp_path, graph([], text, text)))
    nodes = [helper.make_node("RandomNormalLike", ["x"], ["y"], name="noise")]
    content = graph(nodes, [tensor("x", [2])], [tensor("y", [2])])
    with pytest.raises(UsageError, match=r"'noise' .*RandomNormalLike of version 21") as refused:
        ox.load(written(tmp_path, content)).function("constants")(X[0, :2])
    assert "make them an input of the model" in str(refused.value.hint)


def test_a_function_that_calls_itself_is_refused(tmp_path: Path) -> None:
    again = [helper.make_node("Again", ["a"], ["b"], domain="own")]
    body = helper.make_function("own", "Again", ["a"], ["b"], again, [])
    nodes = [helper.make_node("Again", ["x"], ["y"], domain="own")]
    content = graph(nodes, [tensor("x", [2])], [tensor("y", [2])])
    model = ox.load(written(tmp_path, content, [body]))
    with pytest.raises(ArtifactError, match="nested deeper than"):
        model.function("constants")(X[0, :2])


def test_without_the_package_the_error_names_its_installation(dense: Path) -> None:
    script = (
        "import sys; sys.modules['onnx'] = None\n"
        "import olympus.interop.onnx as ox\n"
        "from olympus.errors import BackendError\n"
        "try: ox.load(sys.argv[1])\n"
        "except BackendError as error: print(error.hint)\n"
    )
    command = [sys.executable, "-c", script, str(dense)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output == "pip install 'olympus[onnx]'\n"


def test_importing_olympus_does_not_import_onnx() -> None:
    script = "import sys, olympus, olympus.interop.onnx; print('onnx' in sys.modules)"
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("kind", [FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_a_normalization_by_constants_is_a_product_and_a_sum(kind: int, tmp_path: Path) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    rng = np.random.default_rng(0)
    weights = {name: rng.uniform(0.5, 2, 3).astype(dtype) for name in ("s", "b", "m", "v")}
    content = graph(
        [helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], epsilon=1 / 64)],
        [tensor("x", [2, 3, 4], kind)],
        [tensor("y", [2, 3, 4], kind)],
        **weights,
    )
    model = ox.load(written(tmp_path, content))
    x = rng.standard_normal((2, 3, 4)).astype(dtype)
    traced = {name: model.trace(weights=name) for name in ("constants", "arguments")}
    assert "sqrt" in str(traced["arguments"].olympuspr)
    assert "sqrt" not in str(traced["constants"].olympuspr)
    s, b, m, v = (array.astype("float64")[:, None] for array in weights.values())
    expected = (x - m) / np.sqrt(v + 1 / 64) * s + b
    tolerance = 10 * float(np.finfo(dtype).eps)
    with olympus.enable_x64():
        result = np.asarray(traced["constants"].lower().compile()(x))
    assert result.dtype == dtype
    np.testing.assert_allclose(result.astype("float64"), expected, tolerance, tolerance)


def test_a_trace_has_the_names_of_the_model(dense: Path) -> None:
    traced = ox.load(dense).trace(dims={"batch": 4})
    assert traced.arg_names == ("weights['w']", "x")
    assert [argument.shape for argument in traced.arguments] == [(3, 2), (4, 3)]
    text = traced.lower().as_text(debug_info=True)
    assert f'"{dense}/y":1:1' in text
    assert "jit_model/y/dot_general" in text
    assert ox.load(dense).trace({"x": (2, 3)}, weights="constants").arg_names == ("x",)
