"""Targets with `data`: a bundle with weights, built, run, inspected and cleaned."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from safetensors.numpy import load_file, save_file

import olympus_runtime
from olympus import artifact
from olympus.errors import ArtifactError, UsageError
from tests.artifact.bundles import python

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
"""
BUNDLE = "build/forward+weights/forward+weights.olympus"
W = np.arange(12, dtype=np.float32).reshape(3, 4)
B = np.arange(4, dtype=np.float32)
X = np.ones((2, 3), np.float32)


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "model.py").write_text(MODEL)
    (folder / "olympus.toml").write_text(TOML)
    save_file({"w": W, "b": B}, folder / "weights.safetensors")
    return folder


def statuses(result: Result) -> dict[str, str]:
    assert result.exit_code == 0, result.stderr
    return {x["target"]: x["status"] for x in json.loads(result.stdout)["targets"]}


def test_a_wheel_has_the_weights(work: Path, invoke: Invoke) -> None:
    result = invoke("export", "forward+weights", "--format", "wheel", "--module", "net")
    assert result.exit_code == 0, result.stderr
    with zipfile.ZipFile("net-1.0-py3-none-any.whl") as archive:
        archive.extractall()
    source = "import inspect, numpy as np, net; print(inspect.signature(net.forward))\n"
    source += "print(net.forward(np.ones((2, 3), 'float32')).tolist())"
    assert python(source, work).splitlines() == ["(x)", str((X @ W + B).tolist())]


def test_a_target_without_data_has_no_weights_to_export(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(TOML.replace(', data = "weights.safetensors"', ""))
    result = invoke("export", "forward+weights", "--format", "wheel")
    assert result.exit_code == 2
    assert "forward has no weights" in result.stderr


def test_the_bundle_with_weights_is_explained(work: Path, invoke: Invoke) -> None:
    def explained() -> dict[str, tuple[str, str | None]]:
        result = invoke("explain", "--json")
        assert result.stdout, result.stderr
        return {
            x["target"]: (x["status"], x["reason"]) for x in json.loads(result.stdout)["targets"]
        }

    never = ("stale", "it has not been built before")
    assert explained() == {"forward": never, "forward+weights": never}
    invoke("build")
    assert explained() == {"forward": ("fresh", None), "forward+weights": ("fresh", None)}
    assert "unchanged: the files that it is joined from" in invoke("explain").stdout
    save_file({"w": W + 1, "b": B}, work / "weights.safetensors")
    changed = ("stale", "a file that it is joined from has changed")
    assert explained()["forward+weights"] == changed
    (work / "model.py").write_text(MODEL.replace("@", "* 2 @"))
    waits = ("stale", "forward, which it is joined from, must be built")
    assert explained()["forward+weights"] == waits


def test_a_loaded_program_takes_the_other_arguments(work: Path, invoke: Invoke) -> None:
    built = dict.fromkeys(("forward", "forward+weights"), "built")
    assert statuses(invoke("build", "--json")) == built
    program = olympus_runtime.load(BUNDLE)
    np.testing.assert_array_equal(program(X), X @ W + B)
    other = {"params.w": W, "params.b": 9 * B}
    save_file(other, work / "other.safetensors")
    replaced = olympus_runtime.load(BUNDLE, weights="other.safetensors")
    np.testing.assert_array_equal(replaced(X), X @ W + 9 * B)


def test_weights_are_mapped_and_aligned(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    program = olympus_runtime.load(BUNDLE)
    for array in program._leaves:
        assert not array.flags.owndata
        assert array.ctypes.data % 64 == 0
    with zipfile.ZipFile(BUNDLE) as archive:
        archive.extract("weights.safetensors", work / "out")
    tensors = load_file(work / "out" / "weights.safetensors")
    np.testing.assert_array_equal(tensors["params.w"], W)


def test_it_is_fresh_until_the_weights_change(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    content = Path(BUNDLE).read_bytes()
    fresh = dict.fromkeys(("forward", "forward+weights"), "fresh")
    assert statuses(invoke("build", "--json")) == fresh
    save_file({"w": W, "b": 2 * B}, work / "weights.safetensors")
    assert invoke("build", "--frozen").exit_code == 7
    assert statuses(invoke("build", "--json")) == {**fresh, "forward+weights": "built"}
    assert Path(BUNDLE).read_bytes() != content
    save_file({"w": W, "b": B}, work / "weights.safetensors")
    assert invoke("build").exit_code == 0
    assert Path(BUNDLE).read_bytes() == content


def test_buckets_share_the_weights(work: Path, invoke: Invoke) -> None:
    text = TOML.replace("f32[2,3]", "f32[{n},3]") + "buckets.n = [1, 4]\n"
    (work / "olympus.toml").write_text(text)
    assert invoke("build").exit_code == 0
    x = np.ones((3, 3), np.float32)
    np.testing.assert_array_equal(olympus_runtime.load(BUNDLE)(x), x @ W + B)
    assert not Path("build/forward@n=4+weights").exists()
    assert "[3, 4]" in invoke("run", BUNDLE, "--size", "3").stdout


def test_run_inspect_sign_and_clean(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    assert "[2, 4]" in invoke("run", BUNDLE).stdout
    assert "weights.safetensors" in invoke("inspect", BUNDLE).stdout
    manifest = json.loads(invoke("inspect", BUNDLE, "--json").stdout)["manifest"]
    assert manifest["schema_version"] == 3
    assert invoke("sign", "--new-key", "team").exit_code == 0
    assert invoke("sign", BUNDLE, "--key", "team.key", "-o", "s.olympus").exit_code == 0
    np.testing.assert_array_equal(olympus_runtime.load("s.olympus", trust="team.pub")(X), X @ W + B)
    assert invoke("run", BUNDLE, "--trust", "team.pub").exit_code == 5
    assert invoke("lower", BUNDLE).exit_code == 5
    assert invoke("clean", "forward").exit_code == 0
    assert not Path("build/forward+weights").exists()


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"params.w": W, "params.bb": B}, "did you mean params.b?"),
        ({"w": W}, "which no argument has|lacks params.b of the argument 'params'"),
        ({"w": W.T.copy(), "b": B}, "and the program takes float32[3,4]"),
        (None, "do not exist"),
    ],
)
def test_weights_that_do_not_fit(
    tensors: dict[str, np.ndarray] | None, message: str, work: Path, invoke: Invoke
) -> None:
    if tensors is None:
        (work / "weights.safetensors").unlink()
    else:
        save_file(tensors, work / "weights.safetensors")
    result = invoke("build")
    assert result.exit_code == 2, result.output
    assert any(text in result.stderr for text in message.split("|"))
    assert not Path(BUNDLE).exists()
    assert Path("build/forward/forward.olympus").exists()


def test_bundles_are_joined_from_python(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    source = "build/forward/forward.olympus"
    artifact.join_weights("joined.olympus", source, {"params": "weights.safetensors"})
    assert Path("joined.olympus").read_bytes() == Path(BUNDLE).read_bytes()
    assert artifact.weights_of("joined.olympus").name == "forward"
    with pytest.raises(ArtifactError, match="has weights already"):
        artifact.join_weights("x.olympus", BUNDLE, {"params": "weights.safetensors"})
    with pytest.raises(ArtifactError, match="has no weights"):
        artifact.weights_of(source)
    with pytest.raises(UsageError, match="cannot be read"):
        artifact.join_weights("x.olympus", source, {"params": "absent.safetensors"})


def test_a_damaged_bundle_is_refused(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    content = Path(BUNDLE).read_bytes()
    for place in range(0, len(content), max(1, len(content) // 60)):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        Path("d.olympus").write_bytes(bytes(damaged))
        try:
            result = olympus_runtime.load("d.olympus")(X)
        except (ArtifactError, UsageError):
            continue
        np.testing.assert_array_equal(result, X @ W + B)


def test_a_bundle_with_weights_is_built_by_its_name(work: Path, invoke: Invoke) -> None:
    built = statuses(invoke("build", "forward+weights", "--json"))
    assert built["forward+weights"] == "built"
    result = invoke("build", "forward+weigths")
    assert result.exit_code == 2
    assert "did you mean forward+weights?" in result.stderr


def test_joined_bundles_are_listed(work: Path, invoke: Invoke) -> None:
    def states() -> dict[str, str]:
        targets = json.loads(invoke("list", "--json").stdout)["targets"]
        return {x["target"]: x["state"] for x in targets}

    assert states()["forward+weights"] == "never built"
    assert invoke("build").exit_code == 0
    assert states()["forward+weights"] == "fresh"
    weights = next(work.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\1")
    assert states()["forward+weights"] == "stale"
