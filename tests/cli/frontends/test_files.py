"""Every command takes the programs of every frontend."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pytest
from click.testing import Result

from olympus import artifact
from olympus.interop import stablehlo

Invoke = Callable[..., Result]

PYTHON = """
import olympus.numpy as jnp


def f(x):
    return jnp.tanh(x @ x).sum()
"""
JAX = """
import jax.numpy as jnp


def f(x):
    return jnp.tanh(x @ x).sum()
"""
STABLEHLO = """
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<f32> {
  %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0]
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.tanh %0 : tensor<8x8xf32>
  %2 = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
"""
HLO = """
HloModule f

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}

ENTRY main {
  x = f32[8,8] parameter(0)
  product = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[8,8] tanh(product)
  zero = f32[] constant(0)
  ROOT total = f32[] reduce(y, zero), dimensions={0,1}, to_apply=add
}
"""
ONNX = """
<ir_version: 10, opset_import: ["": 21]>
f (float[8, n] x) => (float y) {
  product = MatMul(x, x)
  t = Tanh(product)
  y = ReduceSum <keepdims = 0>(t)
}
"""
TORCH = """
import torch


class F(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x @ x).sum()


f = F()
"""
#: The file of each frontend, its text (of a bundle the StableHLO), its entry and the shapes.
FRONTENDS = {
    "python": ("m.py", PYTHON, "m:f", "f32[8,8]"),
    "jax": ("j.py", JAX, "j:f", "f32[8,8]"),
    "stablehlo": ("m.mlir", STABLEHLO, "m.mlir", None),
    "hlo": ("m.hlo", HLO, "m.hlo", None),
    "onnx": ("m.onnx", ONNX, "m.onnx", "n=8"),
    "bundle": ("m.olympus", STABLEHLO, "m.olympus", None),
    "torch": ("t.py", TORCH, "t:f", "f32[8,8]"),
}
#: The frontends; PyTorch is installed by `tools/ci/torch` only.
EVERY = [pytest.param(n, marks=pytest.mark.torch if n == "torch" else ()) for n in FRONTENDS]
COMMANDS = [
    ("trace",),
    ("lower",),
    ("lower", "--format", "hlo"),
    ("cost",),
    ("compile", "--output", "there"),
    ("report", "--output", "page.html"),
    ("run",),
    ("verify",),
    ("bench", "--rounds", "1", "--time-limit", "0.2"),
    ("profile",),
]


def content_of(file: str, text: str) -> bytes:
    """Return the content of a file with a program; it is binary for ONNX models and bundles."""
    if file.endswith(".olympus"):
        return bundle_of(text)
    if not file.endswith(".onnx"):
        return text.encode()
    content: bytes = onnx.parser.parse_model(text).SerializeToString()
    return content


def bundle_of(text: str) -> bytes:
    """Return a bundle of a program in StableHLO."""
    traced = stablehlo.read(text.encode(), name="f")
    lowered, program = traced.lower(), str(traced.olympuspr)
    with TemporaryDirectory() as folder:
        path = Path(folder, "f.olympus")
        compiled = lowered.compile()
        artifact.save(
            path, compiled, lowered=lowered, olympuspr_text=program, name="f", entry="m:f"
        )
        return path.read_bytes()


@pytest.fixture(params=EVERY)
def entry(request: pytest.FixtureRequest, project: Path) -> tuple[str, ...]:
    """Write the program of a frontend; return its entry and options."""
    file, text, entry, shapes = FRONTENDS[request.param]
    (project / file).write_bytes(content_of(file, text))
    return (entry, "--shapes", shapes) if shapes else (entry,)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_takes_the_entry(
    command: tuple[str, ...], entry: tuple[str, ...], invoke: Invoke
) -> None:
    name, *options = command
    result = invoke(name, *entry, *options)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("frontend", ["stablehlo", "hlo", "onnx", "bundle"])
def test_the_name_of_a_file_may_have_any_character(
    frontend: str, project: Path, invoke: Invoke
) -> None:
    file, text, _, shapes = FRONTENDS[frontend]
    name = os.fsdecode(b"-a\t\n'\" \xc3\xa9%{}*\xff" + file[1:].encode())
    (project / name).write_bytes(content_of(file, text))
    options = () if shapes is None else ("--shapes", shapes)
    result = invoke("compile", *options, "--output", "there", "--", name)
    assert result.exit_code == 0, result.stderr
    (bundle,) = project.glob("there/*.olympus")
    assert bundle.stem == "-a__'\" é%{}*_"
    assert invoke("inspect", str(bundle)).exit_code == 0
    assert invoke("run", str(bundle)).exit_code == 0


@pytest.mark.parametrize("frontend", ["stablehlo", "hlo", "onnx", "bundle"])
def test_an_entry_with_an_unknown_part_is_a_wrong_entry(
    frontend: str, project: Path, invoke: Invoke
) -> None:
    file, text, entry, _ = FRONTENDS[frontend]
    (project / file).write_bytes(content_of(file, text))
    (project / "olympus.toml").write_text(f'[target.t]\nentry = "{entry}:maim"\n')
    result = invoke("lower", f"{entry}:maim", "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["kind"]) == (2, "EntryError")
    assert file in error["message"] and "maim" in error["message"]
    built = invoke("build")
    assert built.exit_code == 2
    assert "olympus.toml:2: target.t.entry: " in built.stderr


def test_names_in_a_file_that_cannot_be_shown_are_replaced(project: Path, invoke: Invoke) -> None:
    text = STABLEHLO.replace("x8xf32>) ->", 'x8xf32> loc("a\\0Ab")) ->', 1)
    result = '(tensor<f32> {jax.result_info = "r\\09"})'
    (project / "m.mlir").write_text(text.replace("tensor<f32> {", f"{result} {{", 1))
    model = onnx.parser.parse_model(ONNX)
    model.graph.input[0].name = model.graph.node[0].input[0] = "x\ty"
    model.graph.node[0].input[1] = "x\ty"
    (project / "n.onnx").write_bytes(model.SerializeToString())
    for entry, argument in (("m.mlir", "arg0"), ("n.onnx", "input0")):
        compiled = invoke("compile", entry, "--shapes", "n=8" if "onnx" in entry else "f32[8,8]")
        assert compiled.exit_code == 0, compiled.stderr
        (bundle,) = project.glob(f"build/{entry[0]}/*.olympus")
        inspected = invoke("inspect", str(bundle))
        assert inspected.exit_code == 0 and argument in inspected.stdout


@pytest.mark.parametrize("frontend", EVERY)
def test_a_target_is_built_and_checked(frontend: str, project: Path, invoke: Invoke) -> None:
    file, text, entry, shapes = FRONTENDS[frontend]
    (project / file).write_bytes(content_of(file, text))
    args = f'args = ["{shapes}"]\n' if shapes else ""
    args = "args.n = 8\n" if frontend == "onnx" else args
    (project / "olympus.toml").write_text(
        f'[target.t]\nentry = "{entry}"\n{args}golden = true\nbudget.flops = "2 k"\n'
    )
    assert invoke("build").exit_code == 0
    assert "fresh" in invoke("build").stdout
    assert invoke("check", "--update").exit_code == 0
    result = invoke("check")
    assert result.exit_code == 0, result.stdout
    assert invoke("diff", "t", "t").exit_code == 0
    document = json.loads(invoke("cost", "t", "--json").stdout)
    assert document["entry"] == entry
    changed = text.replace("tanh", "cosine" if text is STABLEHLO else "cosh")
    changed = changed.replace("cosh(", "cosine(") if frontend == "hlo" else changed
    changed = changed.replace("Tanh", "Cosh")
    (project / file).write_bytes(content_of(file, changed))
    rebuilt = invoke("build")
    assert rebuilt.stdout.startswith("rebuilt") or "built" in rebuilt.stdout
    assert "fresh" not in rebuilt.stdout
    assert invoke("check").exit_code == 1


def test_as_is_compiles_the_program_of_a_file_unchanged(project: Path, invoke: Invoke) -> None:
    dead = "%dead = stablehlo.sine %arg0 : tensor<8x8xf32>\n  return"
    (project / "m.mlir").write_text(STABLEHLO.replace("return", dead))
    assert "sine" not in invoke("lower", "m.mlir").stdout
    assert "sine" in invoke("lower", "m.mlir", "--as-is").stdout
    (project / "olympus.toml").write_text('[target.t]\nentry = "m.mlir"\nas-is = true\n')
    assert "sine" in invoke("lower", "t").stdout
    result = invoke("trace", "t")
    assert result.exit_code == 2
    assert "compiled unchanged, because it is read with as_is" in result.stderr


@pytest.mark.parametrize("name", ["jax", "stablehlo", "hlo", "bundle"])
@pytest.mark.parametrize(
    "command", [("compile", "--output", "there"), ("verify",), ("report",)], ids=" ".join
)
def test_a_command_takes_a_program_unchanged(
    command: tuple[str, ...], name: str, project: Path, invoke: Invoke
) -> None:
    file, text, entry, shapes = FRONTENDS[name]
    (project / file).write_bytes(content_of(file, text))
    options = () if shapes is None else ("--shapes", shapes)
    result = invoke(command[0], entry, *options, "--as-is", *command[1:])
    assert result.exit_code == 0, result.stderr
    for written in project.rglob("program.olympuspr"):
        assert written.read_text().startswith("# The program is compiled unchanged")
    for bundle in project.rglob("there/*.olympus"):
        assert invoke("verify", str(bundle), "--as-is").exit_code == 0


def test_a_program_with_an_effect_is_built_and_not_verified(project: Path, invoke: Invoke) -> None:
    call = """%1 = stablehlo.custom_call @Sharding(%arg0) {has_side_effect = true}
        : (tensor<4xf32>) -> tensor<4xf32>"""
    (project / "m.mlir").write_text(f"""func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {{
        {call}
        return %1 : tensor<4xf32>
    }}""")
    assert invoke("compile", "m.mlir").exit_code == 0
    result = invoke("verify", "m.mlir")
    assert result.exit_code == 2
    assert "cannot be verified operation by operation: stablehlo.custom_call" in result.stderr


def test_an_operation_without_a_primitive_is_verified(project: Path, invoke: Invoke) -> None:
    """It is computed in its own dtype also where others are computed in float64."""
    unknown = '{mhlo.frontend_attributes = {a = "b"}} : tensor<8x8xf32>'
    (project / "m.mlir").write_text(
        STABLEHLO.replace("tanh %0 : tensor<8x8xf32>", f"tanh %0 {unknown}")
    )
    assert "opaque" in invoke("trace", "m.mlir").stdout
    result = invoke("verify", "m.mlir")
    assert result.exit_code == 0, result.stderr


def test_a_file_has_arguments_of_64_bits(project: Path, invoke: Invoke) -> None:
    for size in ("8", "?"):
        text = "func.func @main(%x: tensor<8xf64>) -> tensor<8xf64> { return %x : tensor<8xf64> }"
        (project / "m.mlir").write_text(text.replace("8xf64", f"{size}xf64"))
        result = invoke("lower", "m.mlir", "--shapes", "f64[8]")
        assert result.exit_code == 0, result.stderr
        wrong = invoke("lower", "m.mlir", "--shapes", "f32[8]")
        assert wrong.exit_code == 2 and f"tensor<{size}xf64>, and got f32[8]" in wrong.stderr
    (project / "m.mlir").write_text(text.replace("f64", "f32"))
    wrong = invoke("lower", "m.mlir", "--shapes", "f64[8]")
    assert wrong.exit_code == 2 and "tensor<8xf32>, and got f64[8]" in wrong.stderr


def test_donate_names_an_argument_of_the_file(project: Path, invoke: Invoke) -> None:
    (project / "m.mlir").write_text(
        "func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {\n"
        "  %0 = stablehlo.add %arg0, %arg1 : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}"
    )
    (project / "olympus.toml").write_text('[target.t]\nentry = "m.mlir"\ndonate = ["arg1"]\n')
    assert "%arg1: tensor<8xf32> {tf.aliasing_output = 0" in invoke("lower", "t").stdout


@pytest.mark.parametrize("frontend", ["stablehlo", "hlo"])
def test_a_damaged_file_is_an_error_or_a_program(
    frontend: str, project: Path, invoke: Invoke
) -> None:
    """A command reads a file in a process of its own, which a native reader may end."""
    rng = np.random.default_rng(0)
    file, text, entry, _ = FRONTENDS[frontend]
    for _ in range(8):
        content = bytearray(content_of(file, text))
        for place in rng.integers(0, len(content), 3):
            content[place] = rng.integers(32, 127)
        (project / file).write_bytes(content)
        result = invoke("lower", entry)
        assert result.exit_code in (0, 5), result.stderr
        assert {path.name for path in project.glob("*.mlir*")} <= {"m.mlir"}
