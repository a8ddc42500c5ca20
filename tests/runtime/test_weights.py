"""Weights in .safetensors files: read, checked against the arguments, and bound to a program."""

from __future__ import annotations

import json
import struct
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

import olympus
import olympus_runtime
from olympus import artifact
from olympus_bundle.weights import dotted, read_weights

RNG = np.random.default_rng(5)
LAYERS = [
    {"w": RNG.standard_normal((4, 8)).astype(np.float32), "b": np.ones(8, np.float32)},
    {"w": RNG.standard_normal((8, 3)).astype(np.float32), "b": np.zeros(3, np.float32)},
]
WHOLE = {f"params.{i}.{name}": x for i, layer in enumerate(LAYERS) for name, x in layer.items()}
X = RNG.standard_normal((2, 4)).astype(np.float32)


def forward(params: Any, x: Any, *, scale: Any) -> Any:
    for layer in params:
        x = x @ layer["w"] + layer["b"]
    return x * scale


WANT = forward(LAYERS, X, scale=2)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "forward.olympus"
    traced = olympus.jit(forward).trace(LAYERS, X, scale=np.float32(2))
    lowered = traced.lower()
    artifact.save(
        path,
        lowered.compile(),
        lowered=lowered,
        olympuspr_text=str(traced.olympuspr),
        name="forward",
        entry="m:forward",
    )
    return path


@pytest.mark.parametrize("names", ["whole", "short", "transposed order"])
def test_a_call_takes_the_other_arguments(names: str, bundle: Path, tmp_path: Path) -> None:
    tensors = dict(reversed(WHOLE.items())) if names == "transposed order" else WHOLE
    if names == "short":
        tensors = {name.removeprefix("params."): x for name, x in WHOLE.items()}
    save_file(tensors, tmp_path / "w.safetensors")
    program = olympus_runtime.load(bundle, weights=tmp_path / "w.safetensors")
    np.testing.assert_allclose(program(X, scale=np.float32(2)), WANT, rtol=1e-5)
    np.testing.assert_allclose(program(x=X, scale=np.float32(2)), WANT, rtol=1e-5)
    assert repr(program).endswith(f"with params from {tmp_path / 'w.safetensors'}>")
    assert program.backend == "cpu"


def test_several_arguments_have_weights(bundle: Path, tmp_path: Path) -> None:
    save_file({**WHOLE, "scale": np.asarray(np.float32(2))}, tmp_path / "w.safetensors")
    program = olympus_runtime.load(bundle, weights=tmp_path / "w.safetensors")
    np.testing.assert_allclose(program(X), WANT, rtol=1e-5)
    with pytest.raises(olympus_runtime.SignatureError, match="'scale' has its weights from"):
        program(X, scale=np.float32(1))


def test_threads_share_the_weights(bundle: Path, tmp_path: Path) -> None:
    save_file(WHOLE, tmp_path / "w.safetensors")
    program = olympus_runtime.load(bundle, weights=tmp_path / "w.safetensors")
    results: list[Any] = []

    def work() -> None:
        for _ in range(50):
            results.append(program(X, scale=np.float32(2)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 400
    for result in results:
        np.testing.assert_allclose(result, WANT, rtol=1e-5)


def without(name: str) -> dict[str, Any]:
    return {key: x for key, x in WHOLE.items() if key != name}


@pytest.mark.parametrize(
    ("tensors", "message", "hint"),
    [
        ({**WHOLE, "params.0.wx": X}, "'params.0.wx', which no argument has", "params.0.w?"),
        ({**WHOLE, "q": X}, "'q', which no argument has", "arguments have"),
        (without("params.1.b"), "lacks params.1.b of the argument 'params'", None),
        (
            {"0.w": X, "0.b": X, "1.w": X},
            "lacks params.1.b of the argument 'params'",
            None,
        ),
        ({"0.w": X, "0.wx": X}, "'params.0.wx', which no argument has", "params.0.w?"),
        ({}, "has no arrays", None),
        ({**WHOLE, "params.0.b": X}, r"as float32\[2,4\], and the program takes", None),
        (
            {**WHOLE, "params.0.b": np.ones(8)},
            r"as float64\[8\], and the program takes float32\[8\]",
            None,
        ),
    ],
)
def test_arrays_that_are_not_those_of_arguments(
    tensors: dict[str, Any], message: str, hint: str | None, bundle: Path, tmp_path: Path
) -> None:
    save_file(tensors, tmp_path / "w.safetensors")
    with pytest.raises(olympus_runtime.UsageError, match=message) as caught:
        olympus_runtime.load(bundle, weights=tmp_path / "w.safetensors")
    assert hint is None or hint in (caught.value.hint or "")


def packed(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(content) if length is None else length) + content + data


def entry(**fields: Any) -> dict[str, Any]:
    return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **fields}}


DAMAGE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "too short"),
    "cut header": (packed({}, length=99), "header has 99 bytes"),
    "huge header": (packed({}, length=2**63), "header has"),
    "no JSON": (packed(b"{"), "Expecting"),
    "a list": (packed([]), "not an object"),
    "no fields": (packed({"x": {}}), "no dtype, shape and offsets"),
    "a number": (packed({"x": 1}), "no dtype, shape and offsets"),
    "unknown dtype": (packed(entry(dtype="F4"), b"0" * 8), "has the dtype 'F4'"),
    "dtype 7": (packed(entry(dtype=7), b"0" * 8), "has the dtype 7"),
    "negative shape": (packed(entry(shape=[-2]), b"0" * 8), "invalid shape"),
    "shape true": (packed(entry(shape=[True]), b"0" * 8), "invalid shape"),
    "huge shape": (packed(entry(shape=[2**40, 2**40]), b"0" * 8), "do not fit"),
    "offsets after the end": (packed(entry(data_offsets=[0, 8]), b"0" * 7), "do not fit"),
    "offsets in reverse": (packed(entry(data_offsets=[8, 0]), b"0" * 8), "do not fit"),
    "three offsets": (packed(entry(data_offsets=[0, 4, 8]), b"0" * 8), "invalid shape"),
    "twice": (packed(b'{"x": 1, "x": 2}'), "twice|repeat"),
    "no bool": (
        packed({"x": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, b"\x02"),
        "no bool",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_refused(name: str, tmp_path: Path) -> None:
    content, message = DAMAGE[name]
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(olympus_runtime.UsageError, match=f"not a .safetensors file.*({message})"):
        read_weights(tmp_path / "w.safetensors")


def test_a_missing_file(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(olympus_runtime.UsageError, match="cannot be read"):
            read_weights(path)


def test_each_dtype_is_read(tmp_path: Path) -> None:
    arrays = {
        name: np.arange(6).astype(name).reshape(2, 3)
        for name in ("bool", "int8", "uint16", "int64", "float16", "float32", "float64")
    }
    arrays["complex64"] = np.complex64([1 + 2j])
    save_file(arrays, tmp_path / "w.safetensors")
    read = read_weights(tmp_path / "w.safetensors")
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
    wide = np.asarray([1.5, -2], ml_dtypes.bfloat16)
    header = {"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    (tmp_path / "b.safetensors").write_bytes(packed(header, wide.tobytes()))
    np.testing.assert_array_equal(read_weights(tmp_path / "b.safetensors")["x"], wide)


def test_names_of_paths() -> None:
    names = {"params[0]['w'].scale": "params.0.w.scale", 'p["a.b"]': "p.a.b", "x": "x"}
    assert {name: dotted(name) for name in names} == names
