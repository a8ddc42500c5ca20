"""The import of PyTorch: only by a call that needs it, with an error if it is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: The parts of PyTorch that are used before torchax is imported.
FAKE = """
import types


class _ops:
    class OpOverloadPacket:
        def __getattr__(self, name):
            raise AttributeError(name)


backends = types.SimpleNamespace(mha=types.SimpleNamespace(get_fastpath_enabled=lambda: True))
"""
PROGRAM = """
import olympus.interop.torch
try:
    olympus.interop.torch.trace(None)
except ImportError as error:
    print(type(error).__mro__[1].__name__, error.exit_code, error, error.hint, sep="|")
"""


def output(program: str, path: Path) -> str:
    """Return the output of a fresh process, with a folder at the front of its module path."""
    begin = f"import sys; sys.path.insert(0, {str(path)!r})\n"
    run = [sys.executable, "-c", begin + program]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()


def test_olympus_imports_no_optional_package(tmp_path: Path) -> None:
    program = """
import olympus, olympus.interop.onnx, olympus.interop.torch
from olympus_cli.frontends import loading
print({"jax", "onnx", "torch", "torchax"} & sys.modules.keys())
"""
    assert output(program, tmp_path) == "set()"


@pytest.mark.parametrize(("absent", "title"), [("torch", "PyTorch"), ("torchax", "torchax")])
def test_a_package_that_is_not_installed(tmp_path: Path, absent: str, title: str) -> None:
    (tmp_path / "torch.py").write_text(FAKE)
    (tmp_path / f"{absent}.py").write_text(f"raise ModuleNotFoundError('absent', name={absent!r})")
    install = "pip install 'olympus[torch]'"
    message = f"olympus.interop.torch needs {title}, which is not installed: {install}"
    assert output(PROGRAM, tmp_path) == f"BackendError|6|{message}|{install}"


def test_an_error_in_a_package_is_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import absent_part")
    with pytest.raises(subprocess.CalledProcessError) as error:
        output(PROGRAM, tmp_path)
    assert "No module named 'absent_part'" in error.value.stderr
