"""The import of JAX: only by `olympus.interop.jax`, with a clear error if it cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def output(program: str, path: Path | None = None) -> str:
    """Return what a fresh process prints, with a folder at the front of its module path."""
    begin = f"import sys; sys.path.insert(0, {str(path)!r})\n" if path else "import sys\n"
    run = [sys.executable, "-c", begin + program]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()


def test_olympus_does_not_import_jax() -> None:
    program = "import olympus, olympus.interop, olympus.artifact; print('jax' in sys.modules)"
    assert output(program) == "False"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "raise ModuleNotFoundError('absent', name='jax')",
            "olympus.interop.jax needs JAX, which is not installed",
        ),
        ("raise RuntimeError('jaxlib is old')", "JAX cannot be imported: jaxlib is old"),
    ],
)
def test_jax_that_cannot_be_imported(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "jax.py").write_text(content)
    program = """
try:
    import olympus.interop.jax
except ImportError as error:
    print(type(error).__mro__[1].__name__, error.exit_code, error, error.hint, sep="|")
"""
    expected = f"BackendError|6|{message}: pip install 'olympus[jax]'|pip install 'olympus[jax]'"
    assert output(program, tmp_path) == expected


def test_a_file_of_jax_export_needs_flatbuffers() -> None:
    program = """
sys.modules["flatbuffers"] = None
import olympus
from olympus.interop.jax import export_file
try:
    export_file(olympus.jit(lambda x: x + 1).trace(1.0))
except ImportError as error:
    print(error.exit_code, str(error).partition(":")[0], error.hint, sep="|")
"""
    expected = "6|a file of jax.export needs the package flatbuffers|pip install 'olympus[jax]'"
    assert output(program).splitlines()[-1] == expected
