"""The programs of docs/how-to/run-from-c.md, compiled and run as they are on the page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.export.c_programs import build, plugin_path, run

pytest.importorskip("lammps_jax_pjrt_cpu", reason="it has no version for this jaxlib")

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/how-to/run-from-c.md").read_text(encoding="utf-8")
ZEROS = "0 0 0 0 0 0 0 0 0 0 "


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mlp") / "mlp-c"
    arguments = ("mlp@batch=1", "--project", str(ROOT / "examples/mlp"))
    options = ("--format", "c", "--output", folder, "--no-cache")
    run(sys.executable, "-m", "olympus_cli", "export", *arguments, *options)
    return folder


def test_the_c_program(mlp: Path) -> None:
    (mlp / "program.c").write_text(block("c"))
    executable = build(mlp, main="program.c")
    assert run(executable, mlp / "mlp_batch_1.olympus", plugin_path()) == ZEROS


@pytest.mark.skipif(not shutil.which("rustc"), reason="Rust is not installed")
def test_the_rust_program(mlp: Path) -> None:
    (mlp / "program.rs").write_text(block("rust"))
    run("gcc", "-c", "-O1", "mlp_batch_1.c", "olympus_runtime.c", cwd=mlp)
    objects = [f"-Clink-arg={name}.o" for name in ("mlp_batch_1", "olympus_runtime")]
    run("rustc", "-Dwarnings", "program.rs", *objects, "-Clink-arg=-ldl", cwd=mlp)
    output = run(mlp / "program", mlp / "mlp_batch_1.olympus", plugin_path())
    assert output == f"[{', '.join(['0.0'] * 10)}]\n"


@pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")
def test_the_go_program(mlp: Path, tmp_path: Path) -> None:
    for path in mlp.glob("*.[ch]"):
        if path.name not in ("main.c", "program.c"):
            shutil.copy(path, tmp_path)
    (tmp_path / "main.go").write_text(block("go"))
    (tmp_path / "go.mod").write_text("module mlp\n\ngo 1.21\n")
    subprocess.run(["go", "build", "-o", "mlp"], cwd=tmp_path, check=True)
    output = run(tmp_path / "mlp", mlp / "mlp_batch_1.olympus", plugin_path())
    assert output == f"[{ZEROS.strip()}]\n"
