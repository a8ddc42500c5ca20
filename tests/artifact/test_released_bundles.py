"""A bundle of every released schema version is loaded and computes the same results.

`released/` has one for each version: `schema<VERSION>.zip` of one program, and for the others
`buckets<VERSION>.zip`, `weights<VERSION>.zip`, `symbolic<VERSION>.zip` and
`constants<VERSION>.zip`. `pytest tests/artifact --update-golden` writes that of a new version; a
file that exists is never written again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
import olympus_runtime
from olympus import artifact
from olympus_bundle.manifest import CONSTANTS_VERSION
from olympus_core.artifact.safetensors import safetensors
from tests.artifact import test_buckets, test_symbolic
from tests.artifact.bundles import members_of, save, struct

FOLDER = Path(__file__).parent / "released"
VERSIONS = range(1, artifact.SCHEMA_VERSION + 1)
X = np.arange(6, dtype="float32").reshape(2, 3)
STATE = {"w": X / 8, "count": np.int32(3), "half": np.ones(2, ml_dtypes.bfloat16), "none": None}


def step(state: dict[str, Any], x: Any, *, scale: Any) -> Any:
    """A program with several dtypes, a donated argument, and nested arguments and results."""
    y = jnp.tanh(x * state["w"]) * scale
    new = {**state, "w": state["w"] + y, "count": state["count"] + 1}
    return new, (y.sum(axis=0), [x > 1])


def file_of(version: int) -> Path:
    return FOLDER / f"schema{version}.zip"


def write(path: Path) -> None:
    state = {
        "w": struct(2, 3),
        "count": struct(dtype="int32"),
        "half": struct(2, dtype="bfloat16"),
        "none": None,
    }
    traced = olympus.jit(step, donate_argnames="state").trace(state, struct(2, 3), scale=2.0)
    save(path, traced, name="step", entry="released:step", static={"rate": 0.5})


def write_buckets(path: Path, folder: Path) -> None:
    path.write_bytes(test_buckets.joined(folder, test_buckets.rows_alone).read_bytes())


def write_weights(path: Path, folder: Path) -> None:
    weights = folder / "w.safetensors"
    weights.write_bytes(safetensors({"w": test_buckets.W}))
    program = test_buckets.joined(folder, test_buckets.rows_alone)
    artifact.join_weights(path, program, {"w": weights})


def write_symbolic(path: Path, folder: Path) -> None:
    path.write_bytes(test_symbolic.joined(folder).read_bytes())


#: A table of 80 KiB, which a program with constants closes over.
TABLE = np.arange(20480, dtype="float32").reshape(5120, 4) / 8192


def write_constants(path: Path, folder: Path) -> None:
    traced = olympus.jit(lambda x, rows: x + jnp.take(TABLE, rows, axis=0)).trace(
        struct(2, 4), struct(2, dtype="int32")
    )
    save(path, traced, constants="store", name="rows", entry="released:rows")


#: The samples of bundles that contain others, with the functions that write them.
JOINED = {
    f"buckets{artifact.BUCKETS_VERSION}": write_buckets,
    f"weights{artifact.WEIGHTS_VERSION}": write_weights,
    f"symbolic{artifact.SYMBOLIC_VERSION}": write_symbolic,
    f"constants{CONSTANTS_VERSION}": write_constants,
}


def test_every_schema_version_has_a_bundle(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    newest, joined = file_of(artifact.SCHEMA_VERSION), {x: FOLDER / f"{x}.zip" for x in JOINED}
    if pytestconfig.getoption("--update-golden") and not newest.exists():
        write(newest)
    for name, path in joined.items():
        if pytestconfig.getoption("--update-golden") and not path.exists():
            (tmp_path / name).mkdir()
            JOINED[name](path, tmp_path / name)
    assert {*FOLDER.iterdir()} >= {*joined.values(), *map(file_of, VERSIONS)}, "--update-golden"
    for path in FOLDER.iterdir():
        manifest = json.loads(members_of(path)["manifest.json"])
        assert path.stem.endswith(str(manifest["schema_version"]))


def check(program: Any) -> None:
    new, (total, (mask,)) = program(STATE, X, scale=2.0)
    y = np.tanh(X * STATE["w"]) * 2
    np.testing.assert_allclose(new["w"], STATE["w"] + y, rtol=1e-5)
    np.testing.assert_allclose(total, y.sum(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(mask), X > 1)
    assert int(new["count"]) == 4 and new["none"] is None
    np.testing.assert_array_equal(np.asarray(new["half"]), STATE["half"])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_runtime_loads_it(version: int) -> None:
    """The executable is used if it fits this machine; the StableHLO is compiled otherwise."""
    check(olympus_runtime.load(file_of(version)))
    check(olympus_runtime.load(file_of(version), native=False))


@pytest.mark.parametrize("version", VERSIONS)
def test_olympus_loads_it(version: int) -> None:
    bundle = artifact.load(file_of(version))
    check(bundle.compiled())
    check(artifact.load(file_of(version), native=False).compiled())
    names = [argument.name for argument in bundle.manifest.signature.arguments]
    assert names == ["state['count']", "state['half']", "state['w']", "x", "scale"]
    assert bundle.manifest.signature.static == {"rate": 0.5}
    assert [a.donated for a in bundle.manifest.signature.arguments] == [True] * 3 + [False] * 2


@pytest.mark.parametrize("path", sorted(FOLDER.glob("buckets*.zip")), ids=lambda path: path.stem)
def test_a_bundle_of_several_numbers_of_rows_is_called(path: Path) -> None:
    program = olympus_runtime.load(path)
    for rows in (1, 3, 16):
        x = np.arange(4 * rows, dtype="float32").reshape(rows, 4) / 64
        expected = np.tanh(x @ test_buckets.W)
        np.testing.assert_allclose(program(test_buckets.W, x), expected, rtol=1e-5)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("weights*.zip")), ids=lambda path: path.stem)
def test_a_bundle_with_weights_is_called(path: Path) -> None:
    x = np.arange(12, dtype="float32").reshape(3, 4) / 64
    expected = np.tanh(x @ test_buckets.W)
    np.testing.assert_allclose(olympus_runtime.load(path)(x), expected, rtol=1e-5)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("symbolic*.zip")), ids=lambda path: path.stem)
def test_a_bundle_with_symbolic_sizes_is_called(path: Path) -> None:
    program = olympus_runtime.load(path)
    for b, d in ((8, 2), (12, 3)):
        test_symbolic.check(program, b, d)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("constants*.zip")), ids=lambda path: path.stem)
def test_a_bundle_with_constants_is_called(path: Path) -> None:
    x, rows = np.ones((2, 4), "float32"), np.array([5119, 7], "int32")
    for native in (True, False):
        program = olympus_runtime.load(path, native=native)
        np.testing.assert_array_equal(program(x, rows), x + TABLE[rows])
        compiled = artifact.load(path, native=native).compiled()
        np.testing.assert_array_equal(compiled(x, rows), x + TABLE[rows])
