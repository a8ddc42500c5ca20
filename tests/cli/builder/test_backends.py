"""A target for several backends: builds with a compiler, and later builds of the other backends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from olympus import artifact
from olympus_cli.builder.plan import Options
from olympus_cli.spec.backends import named_backend
from olympus_cli.spec.project import load_project
from tests.documents.documents import has_gpu_compiler
from tests.marks import needs_tpu_compiler

Invoke = Callable[..., Result]

PROGRAM = "def f(x):\n    return x * 2\n"

TOML = """\
[target.both]
entry = "m:f"
args = ["f32[4]"]
backends = ["cpu", "tpu:v6e"]

[target.host]
entry = "m:f"
args = ["f32[4]"]
"""


@pytest.fixture
def start() -> None:
    """Workers are fresh interpreters here, which import `sitecustomize`."""


@pytest.fixture
def work(folder: Path, start: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with targets for the CPU and for a TPU, whose compiler seems to be absent."""
    (folder / "m.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    (folder / "absent").mkdir()
    (folder / "absent" / "sitecustomize.py").write_text(
        WITHOUT.replace("jax-cuda13-pjrt", "libtpu")
    )
    places = os.pathsep.join([str(folder / "absent"), *sys.path])
    monkeypatch.setenv("PYTHONPATH", places)
    return folder


def targets(result: Result, exit_code: int) -> dict[str, Any]:
    assert result.exit_code == exit_code, result.output
    return {target["target"]: target for target in json.loads(result.stdout)["targets"]}


def labels(folder: Path) -> list[str]:
    report = json.loads((folder / "report.json").read_text())
    return [backend["label"] for backend in report["backends"]]


def test_backends_with_a_compiler_are_built(work: Path, invoke: Invoke) -> None:
    built = targets(result := invoke("build", "--json"), 6)
    assert {name: target["status"] for name, target in built.items()} == {
        "both": "built",
        "host": "built",
    }
    assert built["both"]["error"]["exit_code"] == 6
    assert built["host"]["error"] is None
    assert result.stderr == (
        "error: target 'both': not built for tpu: compiling for a TPU needs the package libtpu, "
        "which is not installed: pip install 'olympus[tpu]' (libtpu is not open source: its "
        "license is Google's terms for its cloud, and you accept it)\n"
    )
    assert labels(work / "build/both") == ["cpu"]
    time = (work / "build/both/report.json").stat().st_mtime_ns
    assert targets(invoke("build", "--json"), 6)["both"]["status"] == "fresh"
    assert (work / "build/both/report.json").stat().st_mtime_ns == time
    stale = targets(invoke("build", "--json", "--frozen"), 7)["both"]
    assert (stale["status"], stale["reason"]) == ("stale", "it has not been built for tpu before")
    run = invoke("run", "build/both/both.olympus")
    assert run.exit_code == 0, run.output


def test_a_target_without_any_compiler_is_not_built(work: Path, invoke: Invoke) -> None:
    invoke("build", "--backend", "cpu")
    result = invoke("build", "both", "--backend", "tpu", "--json")
    assert targets(result, 6)["both"]["status"] == "failed"
    assert labels(work / "build/both") == ["cpu"]


def test_a_backend_is_chosen_by_option(work: Path, invoke: Invoke) -> None:
    assert set(targets(invoke("build", "--json", "--backend", "cpu"), 0)) == {"both", "host"}
    assert labels(work / "build/both") == ["cpu"]
    (only,) = targets(invoke("build", "--json", "--backend", "tpu"), 6)
    assert only == "both"  # the other backend is not built
    result = invoke("build", "host", "--backend", "gpu")
    assert result.exit_code == 2
    assert "none of the targets is built for the backend 'gpu'" in result.stderr


def test_a_backend_without_a_device_selects_all_its_devices(work: Path) -> None:
    names = '["cpu", "gpu:h200", "gpu:a100-80"]'
    (work / "olympus.toml").write_text(TOML.replace('["cpu", "tpu:v6e"]', names))
    spec = load_project(work).targets["both"]
    chosen = {
        text: Options(backend=named_backend(text)).labels(spec)
        for text in ("cpu", "gpu", "gpu:h200", "tpu")
    }
    assert chosen == {
        "cpu": ("cpu",),
        "gpu": ("gpu-h200", "gpu-a100-80"),
        "gpu:h200": ("gpu-h200",),
        "tpu": (),
    }
    assert Options().labels(spec) == ("cpu", "gpu-h200", "gpu-a100-80")


WITHOUT = """\
import importlib.metadata

_version = importlib.metadata.version


def version(name):
    if name == "jax-cuda13-pjrt":
        raise importlib.metadata.PackageNotFoundError(name)
    return _version(name)


importlib.metadata.version = version
"""


def build(work: Path, *paths: Path) -> tuple[int, dict[str, Any], str]:
    """Build with `paths` as the first of `sys.path`; return the exit code, target and stderr."""
    places = os.pathsep.join([*map(str, paths), *sys.path])
    command = [sys.executable, "-m", "olympus_cli", "build", "both", "--json"]
    done = subprocess.run(
        command,
        cwd=work,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    (target,) = json.loads(done.stdout)["targets"]
    return done.returncode, target, done.stderr


def test_the_next_build_with_the_compiler_adds_the_backend(work: Path) -> None:
    (work / "olympus.toml").write_text(TOML.replace('"tpu:v6e"', '"gpu:h200"'))
    (work / "without").mkdir()
    (work / "without" / "sitecustomize.py").write_text(WITHOUT)
    for status in ("built", "fresh"):
        code, target, stderr = build(work, work / "without")
        assert (code, target["status"]) == (6, status)
        assert 'pip install "jax-cuda13-pjrt==' in stderr
        assert labels(work / "build/both") == ["cpu"]
    if not has_gpu_compiler():
        assert build(work)[0] == 6
        return
    code, target, _ = build(work)
    assert (code, target["status"]) == (0, "built")
    assert target["reason"] == "it has not been built for gpu before"
    assert labels(work / "build/both") == ["cpu", "gpu"]
    assert build(work)[1]["status"] == "fresh"
    # without the compiler, its earlier outputs remain while the others are up to date
    code, target, _ = build(work, work / "without")
    assert (code, target["status"]) == (6, "fresh")
    assert labels(work / "build/both") == ["cpu", "gpu"]
    assert build(work)[1]["status"] == "fresh"
    (work / "m.py").write_text(PROGRAM.replace("2", "3"))
    code, target, _ = build(work, work / "without")
    assert (code, target["status"]) == (6, "built")
    assert labels(work / "build/both") == ["cpu"]


def test_a_program_larger_than_its_device_is_a_warning(folder: Path, invoke: Invoke) -> None:
    (folder / "big.py").write_text("def f(x, y):\n    return (x @ y) * 2\n")
    (folder / "olympus.toml").write_text(
        '[device.small]\nlike = "t4"\nmemory = 16777216\n'
        '[target.big]\nentry = "big:f"\nbackends = ["gpu:small"]\n'
        'args = ["f32[4096,1024]", "f32[1024,4096]"]\n'
    )
    if not has_gpu_compiler():
        assert invoke("build").exit_code == 6
        return
    result = invoke("build")
    assert result.exit_code == 0, result.output
    (warning,) = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert "the program does not fit small: it needs " in warning
    assert "64.0 MiB float32[4096,4096]" in warning
    assert "big.py:2" in warning
    text = warning.partition("'big': ")[2]
    shown = invoke("compile", "big").stdout
    assert "fits            small: no" in shown
    assert f"warning: {text}" in shown


@needs_tpu_compiler
def test_the_bundle_has_its_executables_in_the_order_of_backends(
    folder: Path, invoke: Invoke
) -> None:
    (folder / "m.py").write_text(PROGRAM)
    rebuilt = "backends: tpu-v6e, tpu-v5e, cpu -> tpu-v5e, cpu, tpu-v6e"
    for backends, reason in (
        (["tpu:v6e", "tpu:v5e", "cpu"], "it has not been built before"),
        (["tpu:v5e", "cpu", "tpu:v6e"], rebuilt),
    ):
        toml = TOML.partition("\n\n")[0].replace('["cpu", "tpu:v6e"]', json.dumps(backends))
        (folder / "olympus.toml").write_text(toml)
        both = targets(invoke("build", "--json"), 0)["both"]
        assert (both["status"], both["reason"]) == ("built", reason)
        executables = artifact.load(folder / "build/both/both.olympus").executables
        names = [":".join(filter(None, (x.backend, x.device))) for x in executables]
        assert names == backends
    assert targets(invoke("build", "--json"), 0)["both"]["status"] == "fresh"
