"""Traced arrays that are used as Python values: exit code 3, the line, and the remedy for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

CASES = {
    "math.exp(n)": "use olympus.numpy.exp, which takes traced arrays",
    "numpy.exp(n)": "use olympus.numpy.exp, which takes traced arrays",
    "float(n)": "x.astype(float)",
    "int(n)": "x.astype(int)",
    "n.item()": "use the array without this call",
    "list(range(n))": "olympus.lax.fori_loop",
    "jnp.zeros(int(n))": "make 'n' static: --static n=8, or static_argnames",
    "jnp.zeros(n)": "make 'n' static: --static n=8, or static_argnames",
    "jnp.ones(4).reshape(n, 2)": "make 'n' static: --static n=8",
    "jnp.arange(n)": "make 'n' static: --static n=8",
    "numpy.zeros(n)": "take the size from the shape of an array, such as x.shape[0]",
}


@pytest.mark.parametrize(("expression", "hint"), CASES.items(), ids=CASES)
def test_the_remedy_for_a_conversion(
    folder: Path, invoke: Invoke, expression: str, hint: str
) -> None:
    imports = "import math\nimport numpy\nimport olympus.numpy as jnp\n"
    (folder / "program.py").write_text(f"{imports}\ndef f(n):\n    return {expression}\n")
    result = invoke("trace", "program.py:f", "--shapes", "i32[]")
    assert result.exit_code == 3
    assert "program.py:6" in result.stderr and f"return {expression}" in result.stderr
    shown = " ".join(result.stderr.partition("hint: ")[2].split())
    assert hint in shown


def test_the_remedy_for_a_size_works(folder: Path, invoke: Invoke) -> None:
    program = "import olympus.numpy as jnp\ndef f(n):\n    return jnp.zeros(n)\n"
    (folder / "program.py").write_text(program)
    assert invoke("trace", "program.py:f", "--static", "n=8").exit_code == 0
    target = '[target.f]\nentry = "program.py:f"\n[target.f.static]\nn = 8\n'
    (folder / "olympus.toml").write_text(target)
    assert invoke("trace", "f").exit_code == 0
