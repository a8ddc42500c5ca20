"""Traced arrays used as Python values: exit code 3, the line, and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Invoke = Callable[..., Result]


def test_the_remedy_for_a_size_works(folder: Path, invoke: Invoke) -> None:
    program = "import olympus.numpy as jnp\ndef f(n):\n    return jnp.zeros(n)\n"
    (folder / "program.py").write_text(program)
    assert invoke("trace", "program.py:f", "--static", "n=8").exit_code == 0
    target = '[target.f]\nentry = "program.py:f"\n[target.f.static]\nn = 8\n'
    (folder / "olympus.toml").write_text(target)
    assert invoke("trace", "f").exit_code == 0
