"""The models that `python -m benchmarks.onnx` measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import olympus.interop.onnx
from benchmarks import onnx as benchmark


@pytest.mark.parametrize("name", ["perceptron", "attention", "squeezenet"])
def test_a_model_has_drawn_weights_and_one_input(name: str, tmp_path: Path) -> None:
    model = benchmark.model_of(name)
    assert "ConstantOfShape" not in {node.op_type for node in model.graph.node}
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    loaded = olympus.interop.onnx.load(tmp_path / "m.onnx")
    assert len(loaded.inputs) == 1
    weights = loaded.parameters.values()
    assert all(np.isfinite(array).all() and array.std() > 0 for array in weights)
    assert loaded.trace(weights="constants").lower().cost().flops > 1e7


def test_the_row_has_the_ratio_of_pairs() -> None:
    result = {"samples": [[2e-3, 4e-3], [1e-3, 2e-3]], "ready": [3.0, 0.5], "difference": 1e-6}
    assert benchmark.row("net", 2, result) == (
        "| net | 2 | 1.50 | 3.00 | 2.00 (2.00 .. 2.00) | 0.5 | 3.0 | 1e-06 |"
    )


def test_a_vector_of_weights_is_positive() -> None:
    rng = np.random.default_rng(0)
    assert (benchmark.drawn_weight((64,), rng) > 0).all()
    assert abs(float(np.std(benchmark.drawn_weight((64, 32, 3, 3), rng))) - (2 / 288) ** 0.5) < 1e-3
    assert benchmark.drawn_weight((4, 4), rng).dtype == np.float32
