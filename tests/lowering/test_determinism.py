"""The same source gives the same bytes, whatever the process, hash seed or directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import olympus as ox
jnp = ox.numpy
def loss(params, x):
    with ox.named_scope("net"):
        h = jnp.tanh(x @ params["w"] + params["b"])
    def step(c, row):
        return c + row.sum(), jnp.where(row > 0, row, 0.1)
    total, rows = ox.lax.scan(step, 0.0, h)
    inner = ox.jit(lambda v: v * jnp.arange(4.0))
    return total, inner(rows), inner(rows + 1), h[:, 1], rows.at[0].set(2.0)
"""

MAIN = """
import hashlib, sys
sys.path.insert(0, {path!r})
{before}
import olympus as ox, program
s = lambda *shape: ox.ShapeDtypeStruct(shape, "float32")
traced = ox.jit(program.loss).trace(dict(w=s(3, 4), b=s(4)), s(5, 3))
lowered = traced.lower()
for data in (str(traced.olympuspr).encode(), lowered.as_text().encode(), lowered.bytecode()):
    print(hashlib.sha256(data).hexdigest())
"""

BEFORE = "import olympus.numpy as jnp; jnp.tanh(jnp.ones(3)) @ jnp.ones(3); {*map(str, range(50))}"


def digests(folder: Path, seed: str, before: str = "") -> str:
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    code = MAIN.format(path=str(folder), before=before)
    return subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        cwd=folder,
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout


@pytest.mark.parametrize(
    ("name", "seed", "before"),
    [("other", "1", ""), ("elsewhere/deep", "2", BEFORE)],
    ids=["seed", "directory-and-history"],
)
def test_bytes_do_not_depend_on_the_process(
    tmp_path: Path, name: str, seed: str, before: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    first = digests(tmp_path / "one", "0")
    assert len(first.split()) == 3
    assert first == digests(tmp_path / name, seed, before)
