"""The chains of layers that `python -m benchmarks.layers` measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import olympus.interop.onnx
from benchmarks import layers
from benchmarks.layers import Layer
from olympus_core import xla


@pytest.mark.parametrize("layer", [Layer(6, 4, 3), Layer(6, 4, 1), Layer(5, 8)], ids=str)
def test_both_chains_compute_the_same(
    layer: Layer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "COUNT", 2)
    (tmp_path / "m.onnx").write_bytes(layers.onnx_model(layer))
    x, arrays = layers.operands(layer)
    model = olympus.interop.onnx.load(tmp_path / "m.onnx")
    got = olympus.jit(model.function("constants"))(x)
    program = xla.compile(layers.stablehlo_module(layer).encode(), xla.target("cpu"))
    want = np.asarray(program.execute([xla.put(a) for a in arrays])[0])
    if layer.kernel:
        want = np.moveaxis(want, -1, 1)
    assert np.std(want) > 0
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
