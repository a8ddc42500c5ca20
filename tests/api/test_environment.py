"""Settings that a fresh process reads from its environment, and what it does not start early."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DTYPES = """
import threading
import numpy as np
import olympus as ox

def show():
    print(ox.numpy.arange(2.0).dtype, ox.jit(lambda x: x)(np.float64(1)).dtype)

show()
thread = threading.Thread(target=show)
thread.start()
thread.join()
with ox.enable_x64(False):
    show()
show()
"""

#: A runtime that is started with this many devices fails with an error.
NO_RUNTIME = {"OLYMPUS_NUM_CPU_DEVICES": "none"}
WITHOUT = """
import sys
import olympus as ox

spec = ox.ShapeDtypeStruct((4, 3), "float32")
loss = lambda x: ox.numpy.sum(ox.nn.softmax(x) @ ox.numpy.transpose(x))
for target in (None, ox.target("gpu", "h200"), ox.target("tpu")):
    ox.jit(ox.vmap(ox.grad(lambda x: loss(x[None])))).trace(spec).lower(target).as_text()
print([name for name in ("jax", "scipy") if name in sys.modules])
try:
    ox.numpy.zeros(3)
except ox.errors.UsageError as error:
    print(error)
"""


def printed(code: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("on", ["1", "true"])
def test_the_environment_enables_64_bits_in_all_threads(on: str) -> None:
    wide, narrow = "float64 float64", "float32 float32"
    assert printed(DTYPES, OLYMPUS_ENABLE_X64=on) == [wide, wide, narrow, wide]


@pytest.mark.parametrize("off", ["", "0"])
def test_64_bits_are_narrowed_otherwise(off: str) -> None:
    assert set(printed(DTYPES, OLYMPUS_ENABLE_X64=off)) == {"float32 float32"}


def test_a_program_is_traced_and_lowered_without_a_runtime_or_jax() -> None:
    loaded, refused = printed(WITHOUT, **NO_RUNTIME)
    assert loaded == "[]"
    wanted = "OLYMPUS_NUM_CPU_DEVICES needs an integer from 1 to 1024, or auto, got 'none'"
    assert refused == wanted
