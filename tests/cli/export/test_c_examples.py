"""Each example called from C, with the results that it has in Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
from olympus import artifact
from olympus_cli.spec.resolve import open_project
from tests.cli.export.c_programs import build, results, run

pytest.importorskip("lammps_jax_pjrt_cpu", reason="it has no version for this jaxlib")

EXAMPLES = Path(__file__).parents[3] / "examples"
DAY = [
    *(("mlp", "mlp@batch=1"), ("lstm", "lstm@steps=10"), ("gp", "predict"), ("gpt", "tiny")),
    *(("stablehlo", "step"), ("jax", "sharded"), ("onnx", "classify@batch=1")),
]
NIGHT = [
    *(("buckets", f"probabilities@batch={size}") for size in (1, 8, 64)),
    *(("buckets", f"summary@batch={size}") for size in (1, 2, 4, 8, 16, 32, 64)),
    *(("mlp", "mlp@batch=64"), ("lstm", "lstm@steps=1000"), ("gp", "hessian"), ("gp", "newton")),
    *(("kalman", "smooth@steps=20"), ("kalman", "smooth@steps=1000"), ("jax", "step")),
    *(("decoder", "tiny"), ("decoder", "base"), ("diffusion", "step"), ("gpt", "small")),
    *(("jax_flax", "step"), ("jax_flax", "predict"), ("onnx", "classify@batch=32")),
    *(("onnx", "logits"), ("resnet", "step"), ("resnet", "predict"), ("train_gpt", "init")),
    *(("train_gpt", "step"), ("unet", "forward@size=64"), ("unet", "forward@size=128")),
    *(
        ("unet", "step"),
        ("serve_c", "search"),
        ("", "mlp"),
        ("", "flax"),
        ("", "onnx"),
        ("", "stablehlo"),
    ),
]
#: Without it they call LAPACK.
PORTABLE = {"gp", "kalman"}


def drawn_input(argument: artifact.Argument, rng: np.random.Generator) -> np.ndarray:
    """Return small positive values of an argument's type."""
    values = rng.uniform(0.5, 1.5, argument.shape)
    if np.dtype(argument.dtype).kind not in "fcV":
        values = rng.integers(0, 2, argument.shape)
    return values.astype(argument.dtype)


@pytest.mark.parametrize(
    ("project", "target"), [*DAY, *(pytest.param(*case, marks=pytest.mark.night) for case in NIGHT)]
)
def test_an_example(project: str, target: str, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    options = ["--linalg", "portable"] if project in PORTABLE else []
    command = ("export", target, "--project", EXAMPLES / project, "--format", "c", *options)
    run(sys.executable, "-m", "olympus_cli", *command, "--output", folder, "--no-cache")
    bundle = artifact.load(next(folder.glob("*.olympus")))
    rng = np.random.default_rng(0)
    inputs = [drawn_input(x, rng) for x in bundle.manifest.signature.arguments]
    found = results(build(folder, "-O1"), inputs)
    signature = bundle.manifest.signature
    args, kwargs = signature.argument_tree.structure().unflatten(inputs)
    with olympus.enable_x64():
        expected: list[Any] = olympus.tree.leaves(bundle.compiled()(*args, **kwargs))
    assert len(found) == len(expected) == len(signature.results)
    for x, y, info in zip(found, expected, signature.results, strict=True):
        wanted = np.asarray(y)
        x = x.view(wanted.dtype) if x.dtype.kind == "V" else x
        assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype)
        if wanted.dtype.kind in "fcV":
            a, b = x.astype(np.complex128), wanted.astype(np.complex128)
            scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
            tolerance = 1e-4 * scale + 1e-6
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=tolerance, err_msg=info.name)
        else:
            np.testing.assert_array_equal(x, wanted, err_msg=info.name)


def test_every_example_for_the_cpu_is_listed() -> None:
    folders = ["", *(path.parent.name for path in EXAMPLES.glob("*/olympus.toml"))]
    targets = {
        (folder, spec.name)
        for folder in folders
        for spec in open_project(EXAMPLES / folder).select()
        if any(backend.backend == "cpu" for backend in spec.backends)
    }
    assert targets == {*DAY, *NIGHT}
