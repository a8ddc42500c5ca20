"""The example `examples/onnx`: its script writes its file."""

from __future__ import annotations

import runpy
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "examples" / "onnx"


def test_the_script_reproduces_the_model() -> None:
    content = (FOLDER / "digits.onnx").read_bytes()
    script = runpy.run_path(str(FOLDER / "digits.py"))["model"]().SerializeToString()
    assert script == content
    assert len(content) < 100_000
