"""Threads of a fresh process: whichever comes first sets things up, each gets its own result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: All threads begin together, including the setup that a first use needs.
TOGETHER = """
import sys, threading
import numpy as np

sys.setswitchinterval(1e-6)
{imports}
barrier, results, failures = threading.Barrier(8), {{}}, []

def work(i):
{body}

def run(i):
    barrier.wait()
    try:
        results[i] = work(i)
    except BaseException as error:
        failures.append((i, repr(error)))

threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
for i in range(8):
    np.testing.assert_allclose(results[i], {expected}, rtol=1e-5, err_msg=f"thread {{i}}")
print("right")
"""

IMPORT = "import olympus as ox"
BODIES = {
    "at once": (
        IMPORT,
        "    return ox.numpy.arange(3.0) * i + 1",
        "np.arange(3.0) * i + 1",
    ),
    "gradients of programs of their own": (
        IMPORT,
        """
    def f(x):
        return ox.numpy.sum(ox.numpy.tanh(x) ** 2 * i)
    x = np.linspace(-1, 1, 4 + i).astype(np.float32)
    compiled = ox.jit(ox.grad(f)).trace(x).lower().compile()
    return compiled(x)
        """,
        "(lambda t: 2 * i * t * (1 - t**2))(np.tanh(np.linspace(-1, 1, 4 + i)))",
    ),
    "one function with one cache": (
        IMPORT + "\nf = ox.jit(lambda x, n: x * n + 1, static_argnums=1)",
        "    return [f(np.float32(i), n) for n in range(4)]",
        "np.arange(4) * i + 1",
    ),
    "batches and loops": (
        IMPORT,
        """
    def f(x):
        return ox.lax.fori_loop(0, 3, lambda _, y: y + x, 0 * x)
    return ox.jit(ox.vmap(ox.vmap(f)))(np.full((2, 1 + i), i, np.float32))
        """,
        "np.full((2, 1 + i), 3.0 * i)",
    ),
    "draws of their own seeds": (
        IMPORT,
        "    return ox.random.randint(ox.random.key(i), (), i, i + 1)",
        "i",
    ),
    "lowered for another device": (
        IMPORT,
        """
    spec = ox.ShapeDtypeStruct((2, 3 + i), "float32")
    text = ox.jit(lambda x: x + 1).trace(spec).lower(ox.target("gpu", "h200")).as_text()
    return text.count(f"-> (tensor<2x{3 + i}xf32>")
        """,
        "1",
    ),
    "64 bits in half of them": (
        IMPORT,
        """
    with ox.enable_x64(bool(i % 2)):
        x = ox.jit(lambda x: x + 1)(np.float64(i))
        return x.dtype.itemsize
        """,
        "8 if i % 2 else 4",
    ),
    "imports": (
        "",
        "    import olympus as ox\n    return ox.numpy.linalg.norm(np.full(4, i, np.float32))",
        "2 * i",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_eight_threads_that_begin_at_once(name: str) -> None:
    imports, body, expected = BODIES[name]
    done = subprocess.run(
        [sys.executable, "-c", TOGETHER.format(imports=imports, body=body, expected=expected)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
