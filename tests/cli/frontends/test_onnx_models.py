"""ONNX models as entries: free sizes, weights, outputs, external data and errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from olympus.errors import BackendError
from olympus_cli.frontends.loading import load_target
from olympus_cli.spec.resolve import Request
from tests.cli.conftest import Invoke
from tests.cli.frontends.onnx_files import LAYER, B, W, model, write_layer

X = np.array([[1, 2, 3]], "float32")
TOML = """\
[target.layer]
entry = "layer.onnx"
weights = "{weights}"
args.batch = "{{batch}}"
matrix.batch = [1, 4]
"""


@pytest.fixture
def layer(folder: Path) -> Path:
    """The model `LAYER` in the working directory."""
    write_layer(folder / "layer.onnx")
    return folder


def write(path: str, text: str, **weights: np.ndarray) -> None:  # type: ignore[type-arg]
    Path(path).write_bytes(model(text, **weights).SerializeToString())


def results(path: str) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    with np.load(path) as content:
        return dict(content)


@pytest.mark.parametrize(
    ("shapes", "type_"),
    [
        ("batch=8", "float32[8,3]"),
        ("x=f32[2,3]", "float32[2,3]"),
        ("f32[2,3]", "float32[2,3]"),
        ("x=f32[2,3], batch=2", "float32[2,3]"),
    ],
)
def test_shapes_give_free_sizes_or_inputs(
    shapes: str, type_: str, layer: Path, invoke: Invoke
) -> None:
    result = invoke("compile", "layer.onnx", "--shapes", shapes, "--output", "there")
    assert result.exit_code == 0, result.stderr
    assert f"x  {type_}" in (layer / "there/summary.txt").read_text()


@pytest.mark.parametrize("weights", ["constants", "arguments"])
def test_weights_have_their_values_from_the_file(weights: str, layer: Path, invoke: Invoke) -> None:
    np.savez("x.npz", x=X)
    options = ("--weights", weights, "--inputs", "x.npz", "--output", "out.npz")
    result = invoke("run", "layer.onnx", "--shapes", "batch=1", *options)
    assert result.exit_code == 0, result.stderr
    arrays = results("out.npz")
    np.testing.assert_allclose(arrays["result[0]"], np.maximum(X @ W + B, 0), rtol=1e-6)
    np.testing.assert_allclose(arrays["result[1]"], X @ W + B, rtol=1e-6)


def test_weights_as_arguments_can_be_replaced(layer: Path, invoke: Invoke) -> None:
    np.savez("in.npz", **{"x": X, "weights['w']": np.zeros_like(W)})
    options = ("--weights", "arguments", "--inputs", "in.npz", "--output", "out.npz")
    result = invoke("run", "layer.onnx:hidden:0", "--shapes", "batch=1", *options)
    assert result.exit_code == 0, result.stderr
    np.testing.assert_array_equal(results("out.npz")["result"], B[None])


def test_an_npy_file_is_the_only_input_beside_weights(layer: Path, invoke: Invoke) -> None:
    np.save("x.npy", X)
    options = ("--weights", "arguments", "--inputs", "x.npy", "--output", "out.npz")
    result = invoke("run", "layer.onnx:y", "--shapes", "batch=1", *options)
    assert result.exit_code == 0, result.stderr
    np.testing.assert_allclose(results("out.npz")["result"], np.maximum(X @ W + B, 0), rtol=1e-6)


def test_inputs_of_a_target_replace_the_weights_of_the_file(layer: Path, invoke: Invoke) -> None:
    (layer / "olympus.toml").write_text(
        '[target.t]\nentry = "layer.onnx:hidden:0"\nweights = "arguments"\nargs.batch = 1\n'
        "inputs.\"weights['b']\" = { range = [5, 6] }\ninputs.x = { range = [0, 1e-9] }\n"
    )
    assert invoke("run", "t", "--output", "out.npz").exit_code == 0
    result = results("out.npz")["result"]
    assert ((result >= 4.9) & (result < 6)).all()


def test_bundles_have_the_weights_unless_they_are_arguments(layer: Path, invoke: Invoke) -> None:
    np.savez("x.npz", x=X)
    for weights in ("constants", "arguments"):
        compiled = invoke(
            *("compile", "layer.onnx:y", "--shapes", "batch=1"),
            *("--weights", weights, "--output", weights),
        )
        assert compiled.exit_code == 0, compiled.stderr
        run = invoke(
            *("run", f"{weights}/y.olympus", "--inputs", "x.npz", "--output", f"{weights}.npz")
        )
        assert run.exit_code == (0 if weights == "constants" else 2), run.stderr
    assert "lacks weights['b'], weights['w']" in run.stderr
    np.testing.assert_allclose(
        results("constants.npz")["result"], np.maximum(X @ W + B, 0), rtol=1e-6
    )


def test_the_cost_is_by_node(layer: Path, invoke: Invoke) -> None:
    command = ("cost", "layer.onnx", "--shapes", "batch=4")
    rows = json.loads(invoke(*command, "--json").stdout)["cost"]["lines"]
    assert [row["key"] for row in rows] == ["layer.onnx/fc1:1", "layer.onnx/act:2"]
    table = invoke(*command, "--by", "scope").stdout.splitlines()
    assert [row.split()[0] for row in table[-2:]] == ["fc1", "act"]


def test_an_output_selects_its_program(layer: Path, invoke: Invoke) -> None:
    text = invoke("lower", "layer.onnx:hidden:0", "--shapes", "batch=1").stdout
    assert "maximum" not in text
    assert text.count("olympus.result_info") == 1


def test_a_target_is_rebuilt_if_the_file_or_its_external_data_changes(
    folder: Path, invoke: Invoke
) -> None:
    (folder / "olympus.toml").write_text('[target.t]\nentry = "big.onnx"\n')
    text = "g (float[2, 40] x) => (float[2, 40] y) { y = MatMul(x, w) }"
    for i in range(2):
        content = model(text, w=np.full((40, 40), i + 1, "float32"))
        onnx.save(content, "big.onnx", save_as_external_data=True, location="w.bin")
        assert invoke("build").stdout.startswith("built"), i
        assert "fresh" in invoke("build").stdout
        (folder / "w.bin").rename("moved.bin")
    result = invoke("build")
    assert result.exit_code == 2
    assert "external data 'w.bin' of tensor 'w' is missing" in result.stderr


@pytest.mark.parametrize("weights", ["constants", "arguments"])
def test_a_matrix_varies_a_free_size(weights: str, layer: Path, invoke: Invoke) -> None:
    (layer / "olympus.toml").write_text(TOML.format(weights=weights))
    assert invoke("build").exit_code == 0
    document = json.loads(invoke("cost", "layer@batch=4", "--json").stdout)
    assert document["cost"]["flops"] == 4 * (3 * 2 * 2 + 2 + 2)
    verified = invoke("verify", "layer@batch=4")
    assert verified.exit_code == 0, verified.stdout + verified.stderr
    changed = invoke("diff", "layer@batch=1", "layer@batch=4")
    assert "layer.onnx/fc1:1" in changed.stdout
    assert invoke("diff", "layer.onnx", "layer@batch=4").exit_code in (0, 1)


def test_donated_weights_are_all_arrays_of_the_argument(layer: Path, invoke: Invoke) -> None:
    toml = TOML.format(weights="arguments") + 'donate = ["weights", "x"]\n'
    (layer / "olympus.toml").write_text(toml)
    lowered = invoke("lower", "layer@batch=1")
    assert "%arg0: tensor<2xf32> {jax.buffer_donor = true}" in lowered.stdout
    unusable = "float32[3,2] (weights['w']), float32[1,3] (x): no result can take them\n"
    assert lowered.stderr.endswith(f"Some donated buffers were not usable: {unusable}")
    (layer / "olympus.toml").write_text(toml.replace('"weights", "x"', '"weight"'))
    assert "donate names 'weight'" in invoke("lower", "layer@batch=1").stderr


def test_a_static_is_the_value_of_an_input(folder: Path, invoke: Invoke) -> None:
    write(
        "r.onnx", "r (float[2, 6] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }"
    )
    result = invoke("run", "r.onnx", "--static", "shape=[3, 4]")
    assert result.exit_code == 0, result.stderr
    assert "[3, 4]" in result.stdout
    assert "--static shape=[2, 3]" in invoke("run", "r.onnx").stderr.replace("'", "")


def refused(name: str, text: str, message: str, hint: str = "", code: int = 2) -> object:
    return pytest.param(text, message, hint, code, id=name)


@pytest.mark.parametrize(
    ("text", "message", "hint", "code"),
    [
        refused(
            "operator",
            "g (float[2] x) => (float[2] y) { [n1] y = com.acme.Frobnicate(x) }",
            "m.onnx: node 'n1' (Frobnicate): operator com.acme.Frobnicate of version 1",
        ),
        refused(
            "size",
            "g (float[batch, 3] x) => (float[batch, 3] y) { y = Exp(x) }",
            "input 'x' of m.onnx has the free size 'batch'",
            '--shapes "batch=8"',
        ),
        refused(
            "unnamed size",
            "g (float[?, 3] x) => (float[?, 3] y) { y = Exp(x) }",
            "input 'x' of m.onnx has the free size 'x.0'",
            "--shapes \"'x.0'=8\"",
        ),
        refused(
            "rank",
            "g (float[] x) => (float y) { y = Exp(x) }",
            "m.onnx does not declare the shape of its input 'x'",
            '--shapes "x=float32[3]"',
        ),
        refused(
            "strings",
            "g (string[2] x) => (string[2] y) { y = Identity(x) }",
            "'x' of m.onnx: tensors of type STRING are not supported",
        ),
        refused(
            "sequences",
            "g (seq(float[2]) x, int64 i) => (float[2] y) { y = SequenceAt(x, i) }",
            "'x' of m.onnx is not a tensor: its type is sequence",
        ),
        refused(
            "optionals",
            "g (optional(float[2]) x) => (float[2] y) { y = OptionalGetElement(x) }",
            "'x' of m.onnx is not a tensor: its type is optional",
        ),
        refused(
            "training",
            "g (float[2] x, float r, bool t) => (float[2] y) { [drop] y = Dropout(x, r, t) }",
            "node 'drop' (Dropout)",
        ),
        refused(
            "node",
            "g (float[2] x) => (float[2] y) { [n1] y = Concat(x, x) }",
            "m.onnx: node 'n1' (Concat)",
            code=5,
        ),
    ],
)
def test_a_model_that_cannot_be_built_is_an_error(
    text: str, message: str, hint: str, code: int, folder: Path, invoke: Invoke
) -> None:
    content = model(text)
    if "Dropout" in text:
        for name, value in (("r", np.float32(0.5)), ("t", np.bool_(True))):
            content.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    if "float[] x" in text:
        content.graph.input[0].type.tensor_type.ClearField("shape")
    (folder / "m.onnx").write_bytes(content.SerializeToString())
    result = invoke("lower", "m.onnx")
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert hint in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("layer.onnx:hiden:0",), "it has 'y', 'hidden:0'\nhint: did you mean 'hidden:0'?"),
        (("layer.onnx", "--shapes", "bach=8"), "no input or free size 'bach'"),
        (("layer.onnx", "--shapes", "batch=f32[8]"), "the free size 'batch' of layer.onnx needs"),
        (("layer.onnx", "--shapes", "x=8"), "input 'x' of layer.onnx needs a shape"),
        (("layer.onnx", "--shapes", "x=f32[8,4]"), "shape [batch = 8, 3], and got [8, 4]"),
        (("layer.onnx", "--shapes", "x=i32[8,3]"), "is an array of float32, and got int32[8,3]"),
        (("layer.onnx", "--shapes", "f32[1,3], f32[1]"), "has 1 inputs, and 2 shapes are given"),
        (("layer.onnx", "--static", "z=3"), "no input or free size 'z'"),
        (("layer.onnx", "--static", "x={a = 3}"), "static 'x' of layer.onnx is the value"),
        (("layer.onnx", "--as-is"), "as-is is for StableHLO and HLO"),
        (("absent.onnx",), "file absent.onnx does not exist"),
        (("model.py:f", "--weights", "arguments"), "weights is for an ONNX model"),
        (("model.py:f", "--shapes", "x=8"), "argument 'x' of f needs a shape, and got the number"),
    ],
)
def test_options_that_do_not_fit_are_errors(
    options: Sequence[str], message: str, layer: Path, invoke: Invoke
) -> None:
    (layer / "model.py").write_text("def f(x):\n    return x\n")
    result = invoke("lower", *options)
    assert result.exit_code == 2, result.output
    assert message in result.stderr


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\xff" * 40])
def test_a_file_that_is_not_a_model_is_an_error(
    content: bytes, folder: Path, invoke: Invoke
) -> None:
    (folder / "m.onnx").write_bytes(content)
    result = invoke("cost", "m.onnx")
    assert result.exit_code == 5, result.output
    assert "m.onnx is not an ONNX model" in result.stderr


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/hostname", "link.bin", "here/w.bin"])
def test_external_data_is_not_read_outside_the_folder_of_the_model(
    location: str, folder: Path, invoke: Invoke
) -> None:
    inside = folder / "inside"
    inside.mkdir()
    (folder / "secret.bin").write_bytes(bytes(8))
    (inside / "link.bin").symlink_to(folder / "secret.bin")
    (inside / "here").symlink_to(folder)
    (folder / "w.bin").write_bytes(bytes(8))
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=1)
    weight.external_data.add(key="location", value=location)
    content = model("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    content.graph.initializer.append(weight)
    (inside / "m.onnx").write_bytes(content.SerializeToString())
    result = invoke("lower", "inside/m.onnx")
    assert result.exit_code == 5, result.output
    assert "is outside the folder of the model" in result.stderr


def test_names_of_nodes_do_not_name_files_outside_the_model(folder: Path, invoke: Invoke) -> None:
    content = model("g (float[2] x) => (float[2] y) { y = Exp(x) }")
    content.graph.node[0].name = "../../(evil)\n\x1b[31m/./name"
    (folder / "m.onnx").write_bytes(content.SerializeToString())
    rows = json.loads(invoke("cost", "m.onnx", "--json").stdout)["cost"]["lines"]
    assert [row["key"] for row in rows] == ["m.onnx/_/_/_evil_31m/_/name:1"]


def test_without_the_package_an_error_names_the_one_to_install(
    layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    source = load_target(Request("layer.onnx", shapes="batch=1").spec())
    with pytest.raises(BackendError, match="need the package onnx") as caught:
        source.trace()
    assert caught.value.exit_code == 6
    assert "pip install 'olympus[onnx]'" in (caught.value.hint or "")


def test_an_entry_gives_the_name_of_its_output_or_file(layer: Path) -> None:
    assert Request("layer.onnx").spec().name == "layer"
    assert Request("layer.onnx:y").spec().name == "y"
    assert Request("layer.onnx:hidden:0").spec().name == "layer"


def test_a_model_of_another_opset_has_its_operators(folder: Path, invoke: Invoke) -> None:
    content = helper.make_model(model(LAYER, w=W, b=B).graph, ir_version=8)
    content.opset_import[0].version = 11
    (folder / "old.onnx").write_bytes(content.SerializeToString())
    assert invoke("lower", "old.onnx", "--shapes", "batch=2").exit_code == 0


def test_a_model_newer_than_the_package_is_refused(folder: Path, invoke: Invoke) -> None:
    content = model(LAYER, w=W, b=B)
    content.opset_import[0].version = onnx.defs.onnx_opset_version() + 1
    (folder / "new.onnx").write_bytes(content.SerializeToString())
    result = invoke("lower", "new.onnx", "--shapes", "batch=2")
    assert result.exit_code == 2
    assert "has those up to opset" in result.stderr
