"""The stored models of ONNX's backend suite: of PyTorch, with shape arithmetic, and networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import olympus
import olympus.interop.onnx as ox
from olympus.errors import UsageError

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
#: Models with sequences, strings or gradients, and words of the error.
REFUSED = {
    "test_sequence_model": "sequence|Sequence",
    "test_strnorm_model": "STRING",
    "test_gradient_of": "Gradient",
}
FOLDERS = sorted(
    folder
    for kind in ("pytorch-converted", "pytorch-operator", "simple")
    for folder in (DATA / kind).iterdir()
    if (folder / "model.onnx").is_file()
)


def read_tensor(path: Path) -> np.ndarray[Any, Any]:
    return np.asarray(numpy_helper.to_array(TensorProto.FromString(path.read_bytes())))


def tensors(folder: Path, kind: str) -> list[np.ndarray[Any, Any]]:
    count = len(list(folder.glob(f"{kind}_*.pb")))
    return [read_tensor(folder / f"{kind}_{i}.pb") for i in range(count)]


def check(path: Path, inputs: list[Any], expected: list[Any], atol: float) -> None:
    model = ox.load(path)
    values = dict(zip((info.name for info in model.inputs), inputs, strict=False))
    constants = {name: values[name] for name in model.shape_inputs}
    arguments = [values[info.name] for info in model.inputs if info.name not in constants]
    with olympus.enable_x64(True):
        results = olympus.jit(model.function(constants=constants))(model.parameters, *arguments)
    results = results if isinstance(results, tuple) else (results,)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-3, atol=atol)


@pytest.mark.night
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_stored_model_has_the_values_of_the_suite(folder: Path) -> None:
    reason = next((REFUSED[name] for name in REFUSED if folder.name.startswith(name)), None)
    for data in folder.glob("test_data_set_*"):
        if reason is None:
            check(folder / "model.onnx", tensors(data, "input"), tensors(data, "output"), 1e-7)
            continue
        with pytest.raises(UsageError, match=reason):
            model = ox.load(folder / "model.onnx")
            olympus.jit(model.function("constants")).trace(*model.shapes())


@pytest.mark.night
@pytest.mark.parametrize("path", sorted(DATA.glob("light/*.onnx")), ids=lambda path: path.stem)
def test_a_network_has_the_values_of_the_suite(path: Path) -> None:
    model = ox.load(path)
    (shape,) = model.shapes()
    ramp = np.arange(shape.size, dtype="float64") / shape.size  # the input of the suite's runner
    expected = read_tensor(path.with_name(f"{path.stem}_output_0.pb"))
    check(path, [ramp.reshape(shape.shape).astype("float32")], [expected], 1e-7)
