"""Signals that arrive while no exception may be raised."""

from __future__ import annotations

import subprocess
import sys

import pytest

from olympus_cli.process import interrupts

#: Sends itself a signal when the code of a C module imports NumPy.
IMPORT = """
import os, signal, sys, time
from olympus_cli.process import interrupts

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print("sent")
            os.kill(os.getpid(), {signal})

sys.meta_path.insert(0, Finder())
interrupts.install()
try:
    with interrupts.interrupts_raised(), interrupts.terminations_raised():
        import jaxlib._jax
        time.sleep(60)
except BaseException as error:
    print(type(error).__name__, "jaxlib._jax" in sys.modules)
"""


@pytest.mark.parametrize(
    ("signal", "raised"), [("signal.SIGTERM", "Terminated"), ("signal.SIGINT", "KeyboardInterrupt")]
)
def test_a_signal_is_raised_after_the_import_of_a_c_module(signal: str, raised: str) -> None:
    program = IMPORT.replace("{signal}", signal)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == (f"sent\n{raised} True\n", 0), ran.stderr


def test_a_signal_is_raised_at_the_end_of_the_outermost_block() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupts.deferred() as outer:
        with interrupts.deferred() as inner:
            interrupts.raise_soon(KeyboardInterrupt())
            done.append("inner")
        assert len(inner) == len(outer) == 1
        done.append("outer")
    assert done == ["inner", "outer"]


def test_an_error_does_not_discard_a_signal() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        interrupts.raise_soon(KeyboardInterrupt())
        raise OSError("no process left")


def test_nothing_is_raised_without_a_signal() -> None:
    with interrupts.deferred() as came:
        pass
    assert came == []
