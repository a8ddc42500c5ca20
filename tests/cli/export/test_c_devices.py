"""Programs of several devices called from C: arrays are split and joined by the runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import artifact
from olympus.sharding import Mesh, NamedSharding
from olympus.sharding import PartitionSpec as P
from olympus_core.artifact.safetensors import safetensors
from tests.artifact.bundles import save
from tests.cli.export.c_programs import SANITIZERS, build, export, results, save_bundle

pytest.importorskip("lammps_jax_pjrt_cpu", reason="it has no version for this jaxlib")


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_arrays_are_split_and_joined(tmp_path: Path, order: list[int]) -> None:
    devices = np.array(olympus.devices("cpu")[:4])[order].reshape(2, 2)
    mesh = Mesh(devices, ("a", "b"))
    specs = [P("a", "b"), P("b", None), P(None, "a"), P(), P(("a", "b"), None), P("b", "a")]
    shardings = [NamedSharding(mesh, spec) for spec in specs]

    def program(*xs: Any) -> list[Any]:
        total = sum(jnp.sum(x) for x in xs)
        return [total, *(x * 2 for x in xs)]

    whole = NamedSharding(mesh, P())
    struct = olympus.ShapeDtypeStruct((4, 8), "float32")
    bundle = save_bundle(
        tmp_path / "sharded.olympus",
        program,
        *[struct] * len(specs),
        in_shardings=tuple(shardings),
        out_shardings=[whole, *shardings[::-1]],
    )
    folder = export(bundle, tmp_path / "c")
    assert "#define SHARDED_NUM_DEVICES 4" in (folder / "sharded.h").read_text()
    arrays = [np.arange(32, dtype=np.float32).reshape(4, 8) + 100 * i for i in range(len(specs))]
    copied = build(folder, *SANITIZERS, "-DOLYMPUS_COPY_RESULTS").rename(folder / "copied")
    executable = build(folder, *SANITIZERS)
    for command, options in (
        (executable, []),
        (executable, ["--keep", "--repeat", "2"]),
        (copied, []),
    ):
        total, *doubled = results(command, arrays, *options)
        assert total == sum(x.sum() for x in arrays)
        for x, y in zip(arrays, doubled, strict=True):
            np.testing.assert_array_equal(y, 2 * x)


def test_a_collective(tmp_path: Path) -> None:
    mesh = Mesh(np.array(olympus.devices("cpu")[:8]), ("x",))
    rows = NamedSharding(mesh, P("x", None))
    struct = olympus.ShapeDtypeStruct((8, 4), "float32")
    bundle = save_bundle(
        tmp_path / "products.olympus", lambda x: x.T @ x, struct, in_shardings=rows
    )
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    (product,) = results(build(export(bundle, tmp_path / "c")), [x])
    np.testing.assert_allclose(product, x.T @ x, rtol=1e-5)


def test_constants_and_weights_in_the_bundle_are_on_all_devices(tmp_path: Path) -> None:
    mesh = Mesh(np.array(olympus.devices("cpu")[:4]), ("x",))
    rows, columns = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P(None, "x"))
    random = np.random.default_rng(0)
    table = random.normal(size=(129, 130)).astype(np.float32)
    w = random.normal(size=(129, 8)).astype(np.float32)
    x = random.normal(size=(8, 130)).astype(np.float32)

    def program(w: Any, x: Any) -> Any:
        return jnp.tanh(x @ table.T) @ w

    sharded = olympus.jit(program, in_shardings=(columns, rows), out_shardings=rows)
    path = save(tmp_path / "f.olympus", sharded.trace(w, x), constants="store", name="f")
    weights = tmp_path / "w.safetensors"
    weights.write_bytes(safetensors({"w": w}))
    artifact.join_weights(tmp_path / "served.olympus", path, {"w": weights})
    executable = build(export(tmp_path / "served.olympus", tmp_path / "c"), *SANITIZERS)
    (result,) = results(executable, [x])
    np.testing.assert_allclose(result, np.tanh(x @ table.T) @ w, rtol=1e-4, atol=1e-4)
