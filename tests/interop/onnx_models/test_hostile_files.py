"""Damaged models raise errors of OLYMPUS, and nothing else."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import olympus
from olympus.errors import ArtifactError, OlympusError, UsageError
from olympus_core.interop.onnx_models.model import read_model
from tests.interop.onnx_models.suite import cases

#: Cases of which models are damaged: subgraphs, many attributes, weights of shapes.
SUBJECTS = (
    *("if", "loop11", "scan9_sum", "lstm_with_peepholes", "basic_conv_with_padding"),
    *("maxpool_2d_dilations", "resize_upsample_scales_cubic", "slice", "constant"),
    *("convtranspose_pads", "tile", "col2im", "split_variable_parts_1d_opset18", "attention_4d"),
)


def trial(content: bytes) -> str:
    """Read and trace a model; return the class of its error, or "passed"."""
    try:
        model = read_model(content, "damaged.onnx")
        names = {size for info in model.inputs for size in info.dims or () if isinstance(size, str)}
        shapes = model.shapes(dict.fromkeys(names, 2))
        constants = {
            info.name: np.ones(shape.shape, info.dtype)
            for info, shape in zip(model.inputs, shapes, strict=True)
            if info.name in model.shape_inputs and shape.size < 1000
        }
        arguments = [
            shape
            for info, shape in zip(model.inputs, shapes, strict=True)
            if info.name not in constants
        ]
        olympus.jit(model.function("constants", constants=constants)).trace(*arguments)
    except OlympusError as error:
        assert isinstance(error, ArtifactError | UsageError), repr(error)
        return type(error).__name__
    return "passed"


def damaged(content: bytes, source: random.Random) -> bytes:
    """Return bytes of which some are changed, removed or repeated."""
    data = bytearray(content)
    for _ in range(source.randint(1, 3)):
        place = source.randrange(len(data))
        kind = source.randrange(4)
        if kind < 2:
            data[place] = source.choice((0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)))
        elif kind == 2:
            del data[place : place + source.randint(1, 4)]
        else:
            data[place:place] = data[place : place + source.randint(1, 9)]
        if not data:
            break
    return bytes(data)


def check_damaged(name: str, count: int) -> None:
    content = cases()[f"test_{name}"].model.SerializeToString()
    source = random.Random(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = {trial(damaged(content, source)) for _ in range(count)}
    assert outcomes & {"ArtifactError", "UsageError", "SpecError"}


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_damaged_model_raises_an_error_of_olympus(name: str) -> None:
    check_damaged(name, 25)


@pytest.mark.night
@pytest.mark.parametrize("name", SUBJECTS)
def test_many_damaged_models_raise_errors_of_olympus(name: str) -> None:
    check_damaged(name, 1000)


def model_of(nodes: list[Any], **arrays: Any) -> bytes:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "graph", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("Expand", ["x", "huge"], {}),
        ("Tile", ["x", "huge"], {}),
        ("ConstantOfShape", ["huge"], {}),
        ("Range", ["zero", "huge_number", "one"], {}),
        ("HannWindow", ["huge_number"], {}),
        ("OneHot", ["one", "huge_number", "x"], {}),
        ("AveragePool", ["x3"], {"kernel_shape": [2**62]}),
        ("Pad", ["x", "pads"], {}),
    ],
)
def test_a_size_in_the_file_is_checked_first(
    op: str, inputs: list[str], attributes: dict[str, Any]
) -> None:
    content = model_of(
        [helper.make_node(op, inputs, ["y"], **attributes)],
        huge=np.array([2**50]),
        huge_number=np.array(2**50),
        zero=np.array(0),
        one=np.array(1),
        pads=np.array([2**50, 2**50]),
        x3=np.ones((1, 1, 3), "float32"),
    )
    assert trial(content) == "ArtifactError"


def test_a_tensor_without_its_data_allocates_nothing() -> None:
    content = model_of([helper.make_node("Add", ["x", "w"], ["y"])], w=np.ones(2, "float32"))
    for count in (2**40, 2**63 - 1, -1):
        model = ModelProto.FromString(content)
        model.graph.initializer[0].dims[0] = count
        assert trial(model.SerializeToString()) == "ArtifactError"


def test_functions_that_call_each_other_twice_are_bounded() -> None:
    nodes = [helper.make_node("F0", ["x"], ["y"], domain="own")]
    functions = [
        helper.make_function(
            "own",
            f"F{i}",
            ["a"],
            ["c"],
            [
                helper.make_node(f"F{i + 1}", ["a"], ["b"], domain="own"),
                helper.make_node(f"F{i + 1}", ["b"], ["c"], domain="own"),
            ],
            [],
        )
        for i in range(40)
    ]
    model = helper.make_model(
        helper.make_graph(
            nodes,
            "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        ),
        functions=functions,
    )
    assert trial(model.SerializeToString()) == "ArtifactError"
