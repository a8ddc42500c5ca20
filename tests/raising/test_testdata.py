"""The runner of archives of programs: its checks, counts and exit code."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.raising.testdata import fits, main

X = np.float32([0.5, 1.0, np.nan])


def stored(prefix: str, arrays: list[Any]) -> bytes:
    content, members = io.BytesIO(), dict[str, Any]()
    for i, array in enumerate(arrays):
        key = f"{prefix}{i}"
        if array.dtype == ml_dtypes.bfloat16:
            members[f"{key}.dtype"] = np.array("bfloat16")
            array = array.view("uint16")
        members[key] = array
    np.savez(content, **members)
    return content.getvalue()


def archive(path: Path, programs: dict[str, tuple[str, Any, Any]]) -> Path:
    """Write an archive of programs: text with `T` for the type, argument and expected result."""
    with zipfile.ZipFile(path, "w") as content:
        for name, (operation, argument, expected) in programs.items():
            kind = {"float32": "tensor<3xf32>", "bfloat16": "tensor<3xbf16>"}[argument.dtype.name]
            text = f"func.func @main(%x: T) -> T {{\n%y = {operation}\nreturn %y : T\n}}"
            content.writestr(f"{name}.mlir", text.replace("T", kind))
            content.writestr(f"{name}.inputs.npz", stored("arg", [argument]))
            content.writestr(f"{name}.expected.npz", stored("out", [expected]))
            content.writestr(f"{name}.checks.json", json.dumps([["close", 3, 0, ["data", 0]]]))
    return path


def test_programs_are_counted_by_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = X.astype(ml_dtypes.bfloat16)
    path = archive(
        tmp_path / "programs.zip",
        {
            "negate": ("stablehlo.negate %x : T", half, -half),
            "opaque": ("stablehlo.custom_call @annotate_device_placement(%x) : (T) -> T", X, X),
            "wrong": ("stablehlo.tanh %x : T", X, X),
        },
    )
    assert main([str(path), "--only", "negate"]) == 0
    assert "| outlined | 1 | 1 |" in capsys.readouterr().out
    assert main([str(path), "--only", "wrong"]) == 0  # raising changes nothing
    out = capsys.readouterr().out
    assert "wrong: failed, failed, failed" in out
    assert "| raised | 1 | 0 |" in out
    assert main([str(path), "--only", "opaque"]) == 0
    assert "| `stablehlo.custom_call` | 1 | 1 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "limit", "actual", "expected", "result"),
    [
        ("eq", 0, X, X, True),
        ("eq", 0, X, -X, False),
        ("eq", 0, X, X.astype("float64"), False),
        ("close", 1, X, np.nextafter(X, np.float32(2)), True),
        ("close", 1, X, X + np.float32(1e-3), False),
        ("almost_eq", 0.1, X, X + np.float32(0.05), True),
        ("almost_eq", 0.1, X, X + np.float32(0.2), False),
        ("almost_eq", 0.1, np.float32([np.inf]), np.float32([np.inf]), True),
    ],
)
def test_checks(kind: str, limit: float, actual: Any, expected: Any, result: bool) -> None:
    assert fits(kind, limit, actual, expected) is result
