"""A network that classifies images of digits; `python digits.py` writes `digits.onnx`.

Its weights are drawn, as before training.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

CHANNELS = (1, 8, 16)
CLASSES = 10


def weights():
    """Return the weights by name."""
    rng = np.random.default_rng(0)
    arrays = {}
    for i, (c, d) in enumerate(pairwise(CHANNELS), 1):
        arrays[f"block{i}.conv.weight"] = rng.normal(0, (2 / (9 * c)) ** 0.5, (d, c, 3, 3))
        arrays[f"block{i}.norm.scale"] = rng.uniform(0.5, 1.5, d)
        arrays[f"block{i}.norm.shift"] = rng.normal(0, 0.1, d)
        arrays[f"block{i}.norm.mean"] = rng.normal(0, 0.1, d)
        arrays[f"block{i}.norm.var"] = rng.uniform(0.5, 1.5, d)
    features = CHANNELS[-1] * 7 * 7
    arrays["head.weight"] = rng.normal(0, features**-0.5, (CLASSES, features))
    arrays["head.bias"] = np.zeros(CLASSES)
    return {name: array.astype("float32") for name, array in arrays.items()}


def block(i, x):
    """Return the nodes of block `i`: a convolution, a normalization, a relu and a pooling."""
    norm = [f"block{i}.norm.{name}" for name in ("scale", "shift", "mean", "var")]
    name, node = f"block{i}", helper.make_node
    size = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    half = {"kernel_shape": [2, 2], "strides": [2, 2]}
    return [
        node("Conv", [x, f"{name}.conv.weight"], [f"{name}.c"], name=f"{name}/conv", **size),
        node("BatchNormalization", [f"{name}.c", *norm], [f"{name}.n"], name=f"{name}/norm"),
        node("Relu", [f"{name}.n"], [f"{name}.r"], name=f"{name}/relu"),
        node("MaxPool", [f"{name}.r"], [f"{name}.y"], name=f"{name}/pool", **half),
    ]


def model() -> ModelProto:
    """Return the model, with any number of images."""
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 1, 28, 28])
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", CLASSES])
        for name in ("logits", "probabilities")
    ]
    arrays = {
        **weights(),
        "zero": np.array([0]),
        "rest": np.array([-1]),
    }
    # the batch size is read from the shape, as the exporters of frameworks do it
    nodes = [
        *block(1, "images"),
        *block(2, "block1.y"),
        helper.make_node("Shape", ["images"], ["shape"], name="flatten/shape"),
        helper.make_node("Gather", ["shape", "zero"], ["batch"], name="flatten/batch"),
        helper.make_node("Concat", ["batch", "rest"], ["sizes"], name="flatten/sizes", axis=0),
        helper.make_node("Reshape", ["block2.y", "sizes"], ["flat"], name="flatten"),
        helper.make_node(
            "Gemm", ["flat", "head.weight", "head.bias"], ["logits"], name="head", transB=1
        ),
        helper.make_node("Softmax", ["logits"], ["probabilities"], name="softmax", axis=-1),
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "digits", [images], outputs, tensors)
    opset = helper.make_opsetid("", 21)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10, producer_name="digits.py")


if __name__ == "__main__":
    path = Path(__file__).resolve().with_name("digits.onnx")
    path.write_bytes(model().SerializeToString())
