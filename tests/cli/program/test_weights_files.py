"""`--weights FILE` and the key `data`: values of arguments from .safetensors files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from safetensors.numpy import save_file

Invoke = Callable[..., Result]

MODEL = """\
import olympus.numpy as np


def init():
    return {"w": np.zeros((3, 4)), "b": np.zeros(4)}


def forward(params, x):
    return x @ params["w"] + params["b"]
"""
TOML = """\
[target.forward]
entry = "model:forward"
args.params = { from = "model:init", data = "weights.safetensors" }
args.x = "f32[2,3]"
inputs.x = { range = [1, 2] }
"""
B = np.arange(4, dtype=np.float32)
ZERO = np.zeros((3, 4), np.float32)


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "model.py").write_text(MODEL)
    (folder / "olympus.toml").write_text(TOML)
    save_file({"w": ZERO, "b": B}, folder / "weights.safetensors")
    return folder


def results(invoke: Invoke, *args: str) -> np.ndarray:
    result = invoke("run", *args, "-o", "out.npz")
    assert result.exit_code == 0, result.stderr
    with np.load("out.npz") as file:
        return file["result"]


def test_data_has_the_values_of_an_argument(work: Path, invoke: Invoke) -> None:
    np.testing.assert_array_equal(results(invoke, "forward"), np.stack([B, B]))


@pytest.mark.parametrize("names", ["params.b params.w", "params['b'] params['w']", "b w"])
def test_a_file_of_weights_has_precedence(names: str, work: Path, invoke: Invoke) -> None:
    b, w = names.split()
    save_file({b: 3 * B, w: ZERO}, work / "other.safetensors")
    got = results(invoke, "forward", "--weights", "other.safetensors")
    np.testing.assert_array_equal(got, np.stack([3 * B, 3 * B]))


def test_weights_of_a_bundle(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "forward").exit_code == 0
    bundle = "build/forward/forward.olympus"
    got = results(invoke, bundle, "--weights", "weights.safetensors")
    np.testing.assert_array_equal(got, np.stack([B, B]))
    np.savez("x.npz", x=np.ones((2, 3), np.float32))
    got = results(invoke, bundle, "--weights", "weights.safetensors", "--inputs", "x.npz")
    np.testing.assert_array_equal(got, np.stack([B, B]))


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"params.b": B, "params.ww": ZERO}, "did you mean 'params.w' instead of 'params.ww'?"),
        ({"params.b": B}, "lacks 'params.w'"),
        ({"params.b": B, "params.w": ZERO.T.copy()}, "is float32[3,4], but"),
        ({"q": B}, "which the program does not take"),
    ],
)
def test_arrays_that_do_not_fit(
    tensors: dict[str, np.ndarray], message: str, work: Path, invoke: Invoke
) -> None:
    save_file(tensors, work / "other.safetensors")
    result = invoke("run", "forward", "--weights", "other.safetensors")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "forward", "--weights", "w.npz"), "is not one of 'constants', 'arguments' or a"),
        (("run", "forward", "--weights", "absent.safetensors"), "cannot be read"),
        (("lower", "forward", "--weights", "w.safetensors"), "--weights FILE is for run, bench"),
    ],
)
def test_wrong_options(args: tuple[str, ...], message: str, work: Path, invoke: Invoke) -> None:
    result = invoke(*args)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ('data = "w.npz"', "and weights are a .safetensors file"),
        ("data = 3", "must be a string"),
        ('date = "w.safetensors"', "did you mean data?"),
    ],
)
def test_wrong_keys(key: str, message: str, work: Path, invoke: Invoke) -> None:
    text = TOML.replace('data = "weights.safetensors"', key)
    (work / "olympus.toml").write_text(text)
    result = invoke("run", "forward")
    assert result.exit_code == 2
    assert message in result.stderr
