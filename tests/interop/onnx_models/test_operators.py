"""Values and refusals of operators that ONNX's backend suite has no case of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import parser

import olympus
from olympus.errors import UsageError
from olympus_core.interop.onnx_models.model import read_model

LEAST = np.iinfo("int64").min
#: A loop that doubles a value and collects its squares, `LIMIT` times while `GOING`.
LOOP = """(float[2] x, bool flag) => (float[a] y, float[b, c] z) {
  limit = Constant <value_int = LIMIT>()
  going = Constant <value = bool {GOING}>()
  y, z = Loop <body = each (int64 i, bool c, float[2] v) => (bool d, float[n] w, float[n] s) {
    w = STEP
    s = Mul(w, w)
    d = CONDITION
  }>(limit, going, x)
}"""


def loop(limit: int, going: int, step: str = "Add(v, v)", condition: str = "Identity(c)") -> str:
    values = {"LIMIT": str(limit), "GOING": str(going), "STEP": step, "CONDITION": condition}
    text = LOOP
    for name, value in values.items():
        text = text.replace(name, value)
    return text


class Row(NamedTuple):
    """The text of a graph, and its results for operands."""

    graph: str
    operands: list[Any]
    results: list[Any]
    opset: int = 21


ROWS = {
    "Shrink truncates integers last": Row(
        "(int32[4] x) => (int32[4] y) { y = Shrink <bias = 0.4>(x) }",
        [np.array([-3, 0, 1, 9], "int32")],
        [[-2, 0, 0, 8]],
    ),
    "ReduceLogSumExp of integers": Row(
        "(int32[3] x) => (int32 y) { y = ReduceLogSumExp <keepdims = 0>(x) }",
        [np.array([4, 4, 4], "int32")],
        [np.int32(5)],
    ),
    "Div of the least integer": Row(
        f"""(int64[1] x) => (int64[2] y) {{
          a = Constant <value_ints = [{LEAST}, -7]>()
          b = Constant <value_ints = [2, 2]>()
          c = Div(a, b)
          y = Add(c, x)
        }}""",
        [np.array([0])],
        [[LEAST // 2, -3]],
    ),
    "activations without parameters take no alpha": Row(
        """(float[1, 1, 1] x) => (float[1, 2, 1, 1] y) {
          w = Constant <value = float[2, 1, 1] {1.0, 1.0}>()
          r = Constant <value = float[2, 1, 1] {0.0, 0.0}>()
          y = RNN <hidden_size = 1, direction = "bidirectional",
            activations = ["Relu", "HardSigmoid"],
            activation_alpha = [0.25], activation_beta = [0.125]>(x, w, r)
        }""",
        [np.full((1, 1, 1), 2, "float32")],
        [np.array([2, 0.625], "float32").reshape((1, 2, 1, 1))],
    ),
    "ThresholdedRelu of a recurrent operator at alpha": Row(
        """(float[1, 2, 1] x) => (float[1, 1, 2, 1] y, float[1, 2, 1] z) {
          w = Constant <value = float[1, 1, 1] {1.0}>()
          r = Constant <value = float[1, 1, 1] {0.0}>()
          y = RNN <hidden_size = 1, activations = ["ThresholdedRelu"],
            activation_alpha = [0.5]>(x, w, r)
          z = ThresholdedRelu <alpha = 0.5>(x)
        }""",
        [np.array([0.5, 0.25], "float32").reshape((1, 2, 1))],
        [np.array([0.5, 0]).reshape((1, 1, 2, 1)), np.zeros((1, 2, 1))],
    ),
    "a loop of no iterations collects nothing": Row(
        loop(0, 1), [np.ones(2, "float32"), True], [[1, 1], np.zeros((0, 2))]
    ),
    "a loop that may not begin": Row(
        loop(100, 0), [np.ones(2, "float32"), True], [[1, 1], np.zeros((0, 2))]
    ),
    "a loop of shapes that change": Row(
        loop(2, 1, "Concat <axis = 0>(v, v)").replace("Mul(w, w)", "Mul(x, x)"),
        [np.ones(2, "float32"), True],
        [np.ones(8), np.ones((2, 2))],
    ),
}
#: Graphs that are refused, and the message.
REFUSED = {
    "a loop of many iterations whose shapes change": (
        loop(100, 1, "Concat <axis = 0>(v, v)").replace("Mul(w, w)", "Mul(x, x)"),
        [np.ones(2, "float32"), True],
        r"\(Loop\): the loop carries values of different types, float32\[2\] and float32\[4\]:",
    ),
    "branches of different shapes": (
        """(float[2] x, bool flag) => (float[n] y) {
          y = If (flag) <
            then_branch = whole () => (float[n] a) { a = Identity(x) },
            else_branch = twice () => (float[m] b) { b = Concat <axis = 0>(x, x) }
          >
        }""",
        [np.ones(2, "float32"), True],
        r"\(If\): the branches return values of different types, float32\[2\] and float32\[4\]:",
    ),
    "an experimental operator": (
        "(float[1, 1, 1, 2] x) => (float[1, 1, 1, 2] y) { y = MeanVarianceNormalization(x) }",
        [np.ones((1, 1, 1, 2), "float32")],
        "operator MeanVarianceNormalization of version 8 is not supported",
    ),
}


def results(row: Row) -> list[Any]:
    opsets = f'<ir_version: 8, opset_import: ["" : {row.opset}]>'
    content = parser.parse_model(f"{opsets} network {row.graph}").SerializeToString()
    with olympus.enable_x64(True):
        f = olympus.jit(read_model(content, "model.onnx").function("constants"))
        found = f(*row.operands)
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("name", ROWS)
def test_values(name: str) -> None:
    row = ROWS[name]
    for actual, expected in zip(results(row), row.results, strict=True):
        np.testing.assert_array_equal(actual, expected, strict=isinstance(expected, np.integer))


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    graph, operands, message = REFUSED[name]
    with pytest.raises(UsageError, match=message):
        results(Row(graph, operands, [], opset=8 if "experimental" in name else 21))
