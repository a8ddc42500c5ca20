"""A small program, its bundle, and functions that change a bundle."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import olympus
from olympus import artifact, lax

ROOT = Path(__file__).parents[2]


def mlp(params: dict[str, Any], x: Any, *, scale: Any = 1.0) -> dict[str, Any]:
    """The program of most tests: a dict, a keyword and nested results."""
    hidden = lax.tanh(lax.add(lax.mul(params["w"], x), params["b"]))
    return {"out": lax.mul(hidden, scale), "parts": (hidden, [x])}


def struct(*shape: int, dtype: str = "float32") -> olympus.ShapeDtypeStruct:
    """Return the shape and dtype of an array without data."""
    return olympus.ShapeDtypeStruct(shape, dtype)


def traced_mlp() -> Any:
    """Return `mlp`, traced with a weak scalar and without data."""
    return olympus.jit(mlp).trace({"w": struct(2, 3), "b": struct(2, 3)}, struct(2, 3), scale=2.0)


def save(path: Path, traced: Any, *, constants: Any = "embed", **options: Any) -> Path:
    """Save a traced program, compiled for the CPU."""
    lowered = traced.lower(constants=constants)
    compiled = lowered.compile(options.get("compiler_options"))
    options = {"name": "mlp", "entry": "net:mlp", **options}
    text = str(traced.olympuspr)
    artifact.save(path, compiled, lowered=lowered, olympuspr_text=text, **options)
    return path


def members_of(path: Path) -> dict[str, bytes]:
    """Return the members of a bundle, read with `zipfile`."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path: Path, members: dict[str, bytes]) -> Path:
    """Write a zip file of the members with their CRCs, with `zipfile`."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def change_manifest(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the manifest of a bundle."""
    members = members_of(path)
    data = json.loads(members["manifest.json"])
    change(data)
    members["manifest.json"] = json.dumps(data).encode()
    return pack(path, members)


def replace_member(path: Path, name: str, content: bytes) -> Path:
    """Replace a member of a bundle, and its digest in the manifest."""
    members = members_of(path)
    data = json.loads(members["manifest.json"])
    digest = hashlib.sha256(content).hexdigest()
    data["members"][name] = {"sha256": digest, "size": len(content)}
    return pack(path, {**members, name: content, "manifest.json": json.dumps(data).encode()})


def python(source: str, cwd: Path, **env: str) -> str:
    """Run Python source in a new process and return its output."""
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout
