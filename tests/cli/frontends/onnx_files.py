"""ONNX models as text, and the files that the tests of the command line read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

HEADER = '<ir_version: 10, opset_import: ["": 21, "com.acme": 1]>\n'
#: A layer with weights and a free batch size.
LAYER = """
layer (float[batch, 3] x) => (float[batch, 2] y, float[batch, 2] "hidden:0") {
  [fc1] "hidden:0" = Gemm(x, w, b)
  [act] y = Relu("hidden:0")
}
"""
W = np.arange(6, dtype="float32").reshape(3, 2)
B = np.array([0.5, -10], "float32")


def model(text: str, **weights: np.ndarray) -> onnx.ModelProto:  # type: ignore[type-arg]
    """Return a model of a text in ONNX's syntax, with weights."""
    result = onnx.parser.parse_model(HEADER + text)
    for name, array in weights.items():
        result.graph.initializer.append(numpy_helper.from_array(array, name))
    return result


def write_layer(path: Path) -> None:
    """Write the model `LAYER` to a file."""
    path.write_bytes(model(LAYER, w=W, b=B).SerializeToString())
