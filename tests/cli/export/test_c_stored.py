"""Programs in C with arrays in the bundle: large constants, and weights of arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
import olympus_runtime
from olympus import artifact
from olympus_core.artifact.safetensors import safetensors
from tests.artifact.bundles import save, struct
from tests.cli.export.c_programs import (
    SANITIZERS,
    build,
    export,
    plugin_path,
    results,
    run,
    saved_arguments,
)

pytest.importorskip("lammps_jax_pjrt_cpu", reason="it has no version for this jaxlib")

RNG = np.random.default_rng(3)
TABLE = RNG.standard_normal((257, 65)).astype("float32")  # no multiple of 64 bytes
BIAS = RNG.standard_normal((129, 129)).astype("float32")
W = RNG.standard_normal((65, 5)).astype("float32")
SCALE = np.float32([2.0])
SIZES = (1, 4)


def look_up(x: Any, params: Any, rows: Any) -> Any:
    y = (x + jnp.take(TABLE, rows, axis=0)) @ params["w"]
    return y * params["scale"] + BIAS[:5, 0] + jnp.take(BIAS, rows, axis=0)[:, :5]


def bundle(folder: Path, size: int) -> Path:
    params = {"w": struct(65, 5), "scale": struct(1)}
    traced = olympus.jit(look_up).trace(struct(size, 65), params, struct(size, dtype="int32"))
    return save(folder / f"part{size}.olympus", traced, constants="store", name="look_up")


def joined(folder: Path) -> Path:
    path = folder / "joined.olympus"
    fixed: tuple[dict[int, int], str] = {}, "zeros"
    artifact.join_buckets(
        path,
        {n: bundle(folder, n) for n in SIZES},
        name="look_up",
        symbol="b",
        arguments=[({0: 1}, "zeros"), fixed, fixed, ({0: 1}, "zeros")],
        results=[{0: 1}],
    )
    return path


def with_weights(folder: Path, program: Path) -> Path:
    weights = folder / "weights.safetensors"
    weights.write_bytes(safetensors({"w": W, "scale": SCALE}))
    path = folder / "served.olympus"
    artifact.join_weights(path, program, {"params": weights})
    return path


def inputs(rows: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(rows).standard_normal((rows, 65)).astype("float32")
    return x, np.arange(rows, dtype="int32") * 3


PARAMS = {"w": W, "scale": SCALE}


def test_large_constants_are_read_from_the_bundle(tmp_path: Path) -> None:
    path = bundle(tmp_path, 4)
    executable = build(export(path, tmp_path / "c"), *SANITIZERS)
    x, rows = inputs(4)
    expected = olympus_runtime.load(path)(x, PARAMS, rows)
    for options in ((), ("--keep", "--repeat", "3")):
        (result,) = results(executable, [x, SCALE, W, rows], *options)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("is_joined", [False, True], ids=["one size", "several sizes"])
def test_weights_are_read_from_the_bundle(tmp_path: Path, is_joined: bool) -> None:
    path = with_weights(tmp_path, joined(tmp_path) if is_joined else bundle(tmp_path, 4))
    folder = export(path, tmp_path / "c")
    executable = build(folder, *SANITIZERS)
    assert "params" not in (folder / "look_up.h").read_text()
    assert "`look_up_load` maps into memory" in (folder / "README.md").read_text()
    for rows in (1, 3, 4) if is_joined else (4,):
        arguments = inputs(rows)
        (result,) = results(executable, arguments)
        np.testing.assert_array_equal(result, olympus_runtime.load(path)(*arguments))


@pytest.mark.parametrize("array", [TABLE, W], ids=["a constant", "weights"])
def test_a_changed_byte_is_refused(tmp_path: Path, array: np.ndarray) -> None:
    path = with_weights(tmp_path, joined(tmp_path))
    folder = export(path, tmp_path / "c")
    executable = build(folder)
    copy = folder / "look_up.olympus"
    content = bytearray(copy.read_bytes())
    content[content.index(array.tobytes()) + 9] ^= 1
    copy.write_bytes(bytes(content))
    files = saved_arguments(folder, inputs(4))
    message = run(executable, "--plugin", str(plugin_path()), *files, code=5)
    assert "the SHA-256 of its" in message and ".safetensors is another one" in message
