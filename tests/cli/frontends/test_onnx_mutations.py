"""Mutated ONNX models: each ends with a documented exit code, and no file is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.cli.conftest import Invoke
from tests.cli.frontends.onnx_files import B, W, model

CODES = (0, 2, 3, 5)
NETWORK = """
network (float[batch, 3] x, int64[2] sizes) => (float[a, b] y, float[c] total) {
  [fc1] h = Gemm <alpha = 0.5>(x, w, b)
  shape = Shape(h)
  one = Constant <value_ints = [-1]>()
  rows = Gather(shape, zero)
  target = Concat <axis = 0>(rows, one)
  flat = Reshape(h, target)
  [act] y = Selu(flat)
  [sum] total = ReduceSum <keepdims = 0>(y, axes)
}
"""


def network() -> onnx.ModelProto:
    """Return the model that is mutated: with weights, shapes and a function of a schema."""
    constants = {"zero": np.array([0]), "axes": np.array([1])}
    return model(NETWORK, w=W, b=B, **constants)


def mutated_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content with a few bytes changed, removed or repeated."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(len(data)))
        match rng.integers(4):
            case 0:
                data[place] = int(rng.integers(256))
            case 1:
                data[place] ^= 1 << int(rng.integers(8))
            case 2:
                del data[place : place + int(rng.integers(1, 9))]
            case _:
                data[place:place] = data[place : place + int(rng.integers(1, 9))]
    return bytes(data)


def mutated_fields(rng: np.random.Generator) -> bytes:
    """Return a model with a wrong reference, type, size, attribute or piece of data."""
    changed = network()
    graph = changed.graph
    nodes, weights = list(graph.node), list(graph.initializer)
    node, weight = nodes[rng.integers(len(nodes))], weights[rng.integers(len(weights))]
    match rng.integers(8):
        case 0:
            names = [name for other in nodes for name in other.output]
            node.input[:] = [str(rng.choice(names)) for _ in range(rng.integers(4))]
        case 1:
            node.op_type = str(rng.choice(["Loop", "If", "Conv", "LSTM", "TopK", "Resize", "Pad"]))
        case 2:
            weight.data_type = int(rng.integers(0, 30))
        case 3:
            weight.dims[:] = rng.integers(-2, 2**62, rng.integers(5)).tolist()
        case 4:
            weight.raw_data = weight.raw_data[: rng.integers(8)]
        case 5:
            weight.data_location = 1
            weight.external_data.add(key="location", value=str(rng.choice(["", "..", "m.onnx"])))
        case 6:
            size = graph.input[0].type.tensor_type.shape.dim[0]
            size.dim_value = int(rng.integers(-2, 2**62))
        case _:
            changed.opset_import[0].version = int(rng.integers(-1, 40))
    content: bytes = changed.SerializeToString()
    return content


def check(seed: int, folder: Path, invoke: Invoke) -> None:
    rng = np.random.default_rng(seed)
    path = folder / "m.onnx"
    of_bytes = rng.integers(2)
    content = network().SerializeToString()
    path.write_bytes(mutated_bytes(content, rng) if of_bytes else mutated_fields(rng))
    result = invoke("lower", "m.onnx", "--shapes", "batch=2", "--static", "sizes=[2, 2]")
    assert result.exit_code in CODES, (seed, result.output)
    assert (result.stdout == "") == (result.exit_code != 0), seed
    assert [path.name for path in folder.iterdir()] == ["m.onnx"], seed


def test_the_model_itself_is_a_program(folder: Path, invoke: Invoke) -> None:
    (folder / "m.onnx").write_bytes(network().SerializeToString())
    result = invoke("lower", "m.onnx", "--shapes", "batch=2", "--static", "sizes=[2, 2]")
    assert result.exit_code == 0, result.stderr


def test_a_mutated_model_is_an_error_or_a_program(folder: Path, invoke: Invoke) -> None:
    for seed in range(12):
        check(seed, folder, invoke)


@pytest.mark.night
def test_many_mutated_models_are_errors_or_programs(folder: Path, invoke: Invoke) -> None:
    for seed in range(12, 1500):
        check(seed, folder, invoke)
