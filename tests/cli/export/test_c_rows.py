"""Bundles for several numbers of rows called from C with any number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import olympus
import olympus.numpy as jnp
import olympus_runtime
from olympus import artifact
from olympus.verification import prove_rows_independent
from tests.cli.export.c_programs import (
    SANITIZERS,
    build,
    export,
    plugin_path,
    results,
    run,
    save_bundle,
    saved_arguments,
)

pytest.importorskip("lammps_jax_pjrt_cpu", reason="it has no version for this jaxlib")

SIZES = (1, 4, 16)
RNG = np.random.default_rng(3)
W = RNG.standard_normal((4, 3)).astype(np.float32)


def with_mask(w: Any, x: Any, valid: Any, edge: Any) -> Any:
    y = jnp.tanh(x @ w)
    mean = jnp.where(valid[:, None], y, 0).sum(0) / valid.sum()
    pairs = jnp.stack([x.reshape(-1, 2), x.reshape(-1, 2) * 2])
    return {"rows": y, "pairs": pairs, "mean": mean, "columns": edge.T @ jnp.ones(2) + 1}


def rows_alone(w: Any, x: Any) -> Any:
    return jnp.tanh(x @ w)


def structs(function: Any, rows: int) -> list[Any]:
    shapes = [((4, 3), "float32"), ((rows, 4), "float32"), ((rows,), "bool")]
    shapes.append(((2, rows), "float32"))
    count = function.__code__.co_argcount
    return [olympus.ShapeDtypeStruct(*shape) for shape in shapes[:count]]


def joined(folder: Path, function: Any, **options: Any) -> Path:
    fills = ("zeros", "zeros", "mask", "edge")[: function.__code__.co_argcount]
    traced = [olympus.jit(function).trace(*structs(function, rows)) for rows in (16, 15)]
    axes = prove_rows_independent(*traced, (16, 15), fills)
    parts = {
        size: save_bundle(folder / f"{size}.olympus", function, *structs(function, size))
        for size in SIZES
    }
    path = folder / "model.olympus"
    arguments = list(zip(axes.arguments, fills, strict=True))
    artifact.join_buckets(
        path, parts, name="model", symbol="b", arguments=arguments, results=axes.results, **options
    )
    return path


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    return build(export(joined(folder, with_mask), folder / "c"), *SANITIZERS)


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 15, 16])
def test_any_number_of_rows(masked: Path, rows: int) -> None:
    x = RNG.standard_normal((rows, 4)).astype(np.float32)
    edge = RNG.standard_normal((2, rows)).astype(np.float32)
    expected = olympus_runtime.load(masked.parent / "model.olympus")(W, x, edge)
    for options in ([], ["--keep", "--repeat", "2"]):
        columns, mean, pairs, y = results(masked, [W, x, edge], *options)
        np.testing.assert_allclose(y, expected["rows"], rtol=1e-6)
        np.testing.assert_allclose(mean, expected["mean"], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(pairs, expected["pairs"])
        np.testing.assert_allclose(columns, edge.sum(0) + 1, rtol=1e-5, atol=1e-6)


def test_other_numbers_of_rows_are_refused(masked: Path, tmp_path: Path) -> None:
    assert run(masked, "--signature").splitlines() == [
        "argument w: float32[4,3]",
        "argument x: float32[b,4]",
        "argument edge: float32[2,b]",
        "result result['columns']: float32[b]",
        "result result['mean']: float32[3]",
        "result result['pairs']: float32[2,2*b,2]",
        "result result['rows']: float32[b,3]",
    ]
    for rows, other, message in (
        (17, 17, "error: model takes 1 to 16 rows, and got 17"),
        (5, 6, "has another shape"),
    ):
        arrays = [W, np.ones((rows, 4), np.float32), np.ones((2, other), np.float32)]
        files = saved_arguments(tmp_path, arrays)
        assert message in run(masked, "--plugin", plugin_path(), *files, code=2)


def test_more_rows_are_split(tmp_path: Path) -> None:
    folder = export(joined(tmp_path, rows_alone, oversize="split"), tmp_path / "c")
    executable = build(folder, *SANITIZERS)
    for rows in (3, 16, 17, 39, 48):
        x = RNG.standard_normal((rows, 4)).astype(np.float32)
        (y,) = results(executable, [W, x])
        np.testing.assert_allclose(y, np.tanh(x @ W), rtol=1e-5)


def test_a_changed_part_is_damage(masked: Path, tmp_path: Path) -> None:
    content = bytearray((masked.parent / "model.olympus").read_bytes())
    part = artifact.load(masked.parents[1] / "4.olympus")
    at = content.index(part.members["executables/cpu.bin"])
    content[at + 100] ^= 1
    path = tmp_path / "model.olympus"
    path.write_bytes(content)
    arrays = [W, np.ones((4, 4), np.float32), np.ones((2, 4), np.float32)]
    files = saved_arguments(tmp_path, arrays)
    output = run(masked, "--plugin", plugin_path(), "--bundle", path, *files, code=5)
    assert "the SHA-256 of its executables/cpu.bin is another one" in output


def test_the_command_exports_the_file(
    masked: Path, tmp_path: Path, invoke: Callable[..., Result]
) -> None:
    output = tmp_path / "c"
    arguments = (str(masked.parent / "model.olympus"), "--format", "c", "-o", str(output))
    result = invoke("export", *arguments)
    assert result.exit_code == 0, result.stderr
    names = ("model.h", "model.c", "main.c", "README.md")
    assert [(output / name).read_text() for name in names] == [
        (masked.parent / name).read_text() for name in names
    ]


CLASSIFIER = """
def scores(w, x):
    return x @ w
"""
TOML = """
[target.scores]
entry = "classifier:scores"
args.w = "f32[4,3]"
args.x = "f32[{batch},4]"
buckets.batch = [2, 8]
"""


def test_the_command_exports_a_target_for_several_sizes(
    tmp_path: Path, invoke: Callable[..., Result]
) -> None:
    (tmp_path / "classifier.py").write_text(CLASSIFIER)
    (tmp_path / "olympus.toml").write_text(TOML)
    project = ("--project", str(tmp_path))
    output = tmp_path / "c"
    result = invoke("export", "scores", *project, "--format", "c", "-o", str(output), "--json")
    assert result.exit_code == 0, result.stderr
    assert '"target": "scores"' in result.stdout
    x = RNG.standard_normal((5, 4)).astype(np.float32)
    (y,) = results(build(output), [W, x])
    np.testing.assert_allclose(y, x @ W, rtol=1e-5)
    on_gpu = ("--device", "h200", "-o", str(tmp_path / "gpu"))
    result = invoke("export", "scores", *project, "--format", "c", *on_gpu)
    assert result.exit_code == 0, result.stderr
    assert '.platform = "cuda"' in (tmp_path / "gpu/scores.c").read_text()
    one = invoke("export", "scores", *project, "--format", "stablehlo", "-o", "-")
    assert one.exit_code == 2
    assert "name one of scores@batch=2, scores@batch=8" in one.stderr
