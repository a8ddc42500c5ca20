"""`olympus export` in the formats that need no compilation."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jaxlib.mlir.dialects.stablehlo as hlo
import numpy as np
import pytest
from click.testing import Result

Invoke = Callable[..., Result]

ADD = ("model:add", "--shapes", "f32[2], f32[2]")


def export(invoke: Invoke, form: str, *args: str) -> bytes:
    result = invoke("export", *ADD, "--format", form, "-o", "out", *args)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert result.stderr == "wrote out\n"
    return Path("out").read_bytes()


def test_stablehlo_is_the_lowered_program(project: Path, invoke: Invoke) -> None:
    assert export(invoke, "stablehlo").decode() == invoke("lower", *ADD).stdout
    printed = invoke("export", *ADD, "--format", "stablehlo", "-o", "-")
    assert printed.stdout == invoke("lower", *ADD).stdout


def test_bytecode_has_the_version(project: Path, invoke: Invoke) -> None:
    for version in (hlo.get_minimum_version(), "1.0.0", hlo.get_current_version()):
        content = export(invoke, "bytecode", "--stablehlo-version", version)
        assert f"StableHLO_v{version}".encode() in content[:40]
        read = invoke("lower", "out.mlirbc") if Path("out").rename("out.mlirbc") else None
        assert read is not None
        assert "stablehlo.add" in read.stdout


@pytest.mark.parametrize("version", ["1", "99.0.0", "0.1.0", "1.0.0.0", "new", "\uff11.0.0"])
def test_unknown_versions(version: str, project: Path, invoke: Invoke) -> None:
    result = invoke("export", *ADD, "--format", "bytecode", "--stablehlo-version", version)
    assert result.exit_code == 2
    assert f"no version of StableHLO is {version!r}: versions are 0." in result.stderr


def test_a_version_without_an_operation(project: Path, invoke: Invoke) -> None:
    (project / "tan.py").write_text("import olympus.numpy as np\ndef f(x):\n    return np.tan(x)\n")
    args = ("tan:f", "--shapes", "f32[2]", "--format", "bytecode")
    result = invoke("export", *args, "--stablehlo-version", "1.0.0")
    assert result.exit_code == 2
    assert "for StableHLO 1.0.0: that version has no tan as the program uses it" in result.stderr
    assert not Path("f.mlirbc").exists()


def test_hlo_is_that_of_the_compiler(project: Path, invoke: Invoke) -> None:
    text = export(invoke, "hlo").decode()
    assert text.startswith("HloModule")
    assert export(invoke, "hlo-proto")
    Path("out").rename("out.hlo.pb")
    assert "stablehlo.add" in invoke("lower", "out.hlo.pb").stdout


READER = """\
import sys
import jax, numpy as np
exported = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
params = {"w": np.ones((3, 4), "float32"), "b": np.ones(4, "float32")}
x = np.arange(6, dtype="float32").reshape(2, 3)
print(exported.platforms, exported.call(params, x)["y"].tolist())
if exported.has_vjp():
    print([g.shape for g in exported.vjp().call(params["b"], params["w"], x, np.ones((2, 4), "f"))])
assert "olympus" not in sys.modules
"""
LAYER = """\
import olympus.numpy as np

def layer(params, x):
    return {"y": x @ params["w"] + params["b"]}
"""
SHAPES = ("--shapes", "params={w=f32[3,4], b=f32[4]}, x=f32[2,3]")


def read(*args: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", READER, *args], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_jax_reads_a_file_of_jax_export(project: Path, invoke: Invoke) -> None:
    (project / "layer.py").write_text(LAYER)
    form = ("--format", "jax-export", "--vjp-order", "1")
    assert invoke("export", "layer:layer", *SHAPES, *form).exit_code == 0
    values = (np.arange(6).reshape(2, 3).sum(1) + 1.0)[:, None].repeat(4, 1).tolist()
    assert read("layer.jax_export") == [f"('cpu',) {values}", "[(4,), (3, 4), (2, 3)]"]


def test_jax_export_has_the_backends_of_a_target(project: Path, invoke: Invoke) -> None:
    (project / "olympus.toml").write_text(
        '[target.add]\nentry = "model:add"\nargs = ["f32[2]", "f32[2]"]\n'
        'backends = ["cpu", "gpu:h200"]\n'
    )
    assert invoke("export", "add", "--format", "jax-export").exit_code == 0
    code = "import jax; e = jax.export.deserialize(bytearray(open('add.jax_export', 'rb').read()))"
    shown = subprocess.check_output(
        [sys.executable, "-c", f"{code}; print(e.platforms)"], text=True
    )
    assert shown.split() == ["('cpu',", "'cuda')"]


def test_jax_export_of_several_devices_is_refused(project: Path, invoke: Invoke) -> None:
    (project / "olympus.toml").write_text(
        '[target.add]\nentry = "model:add"\nmesh = { d = 2 }\n'
        'args = [{ shape = "f32[2]", sharding = ["d"] }, "f32[2]"]\n'
    )
    result = invoke("export", "add", "--format", "jax-export")
    assert result.exit_code == 2
    assert "'add' is for 2 devices, and a file of jax.export is written for one" in result.stderr


def test_a_bundle_is_exported_unchanged(project: Path, invoke: Invoke) -> None:
    assert invoke("build", "add").exit_code == 0
    bundle = "build/add/add.olympus"
    assert invoke("export", bundle, "--format", "stablehlo").stderr == "wrote add.mlir\n"
    assert Path("add.mlir").read_text() == invoke("lower", bundle, "--as-is").stdout


def test_json(project: Path, invoke: Invoke) -> None:
    result = invoke("export", "add", "--format", "hlo", "--json")
    assert json.loads(result.stdout) == {
        "target": "add",
        "entry": "model.py:add",
        "format": "hlo",
        "output": "add.hlo.txt",
    }
    assert Path("add.hlo.txt").read_text().startswith("HloModule")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--format", "hlo", "--stablehlo-version", "1.0.0"], "--stablehlo-version is for"),
        (["--format", "hlo", "--vjp-order", "1"], "--vjp-order is for --format jax-export"),
        (["--format", "jax-export", "--vjp-order", "-1"], "must be at least 0"),
        (["--format", "onnx"], "invalid value for '--format': 'onnx'"),
        ([], "missing option '--format'"),
        (["--format", "hlo", "-o", "-", "--json"], "cannot be combined with --json"),
        (["--format", "hlo", "-o", "absent/out"], "cannot be written"),
        (["--format", "hlo", "-o", "."], "cannot be written"),
    ],
)
def test_usage_errors(args: list[str], message: str, project: Path, invoke: Invoke) -> None:
    result = invoke("export", "add", *args)
    assert result.exit_code == 2
    assert message in result.stderr.replace("Missing", "missing")


@pytest.mark.parametrize("option", ["--output", "-o"])
def test_an_error_is_a_document(option: str, project: Path, invoke: Invoke) -> None:
    result = invoke("export", "nothing", "--format", "hlo", "--json", option, "out.txt")
    assert json.loads(result.stdout)["error"]["exit_code"] == result.exit_code == 2


def test_errors_of_the_program(project: Path, invoke: Invoke) -> None:
    (project / "bad.py").write_text("def f(x):\n    return x + [1] * 'a'\n")
    assert invoke("export", "bad:f", "--shapes", "f32[]", "--format", "hlo").exit_code == 3
    (project / "broken.olympus").write_bytes(b"PK")
    assert invoke("export", "broken.olympus", "--format", "stablehlo").exit_code == 5
    assert not list(project.glob("*.hlo*"))
