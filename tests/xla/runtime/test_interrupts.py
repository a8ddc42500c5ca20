"""A Ctrl-C during a compilation is raised immediately, and the process does not crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.day import diagonals

ROOT = Path(__file__).parents[3]

#: The exit code of a program whose interrupt was raised after the end of the compilation.
TOO_LATE = 75

#: A program that XLA compiles for seconds; the interrupt arrives during the compilation.
PROGRAM = """
import os, signal, sys, threading, time
import olympus as ox

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore the signal

def f(x):
    for i in range({layers}):
        x = ox.nn.softmax(ox.numpy.tanh(x @ (x * (i + 1.1))) + ox.numpy.sin(x))
    return x.sum()

def compiling():
    return [t for t in threading.enumerate() if t.name == "olympus-compile"]

def interrupt():
    while not compiling():
        time.sleep(0.01)
    time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)

target = {target}
staged = ox.jit(ox.grad(f))
lowered = staged.trace(ox.ShapeDtypeStruct((64, 64), "float32")).lower(target)
x = ox.numpy.ones((64, 64))
threading.Thread(target=interrupt, daemon=True).start()
try:
    {work}
except KeyboardInterrupt as error:
    if not compiling():
        raise SystemExit({too_late}) from None
    assert "goes on in the background" in error.__notes__[0]
else:
    raise SystemExit("nothing was interrupted")
del lowered, staged
print("interrupted", flush=True)
{after}
"""


def run(work: str, target: str = "None", layers: int = 50, after: str = "") -> tuple[int, str, str]:
    """Return the exit code and the output of the program.

    A busy machine may compile the program before the interrupt is raised: then a larger program
    runs. If the interrupt waits for the end of the compilation, it is late for each of them.
    """
    for factor in (1, 4, 16):
        source = PROGRAM.format(
            work=work, target=target, layers=factor * layers, after=after, too_late=TOO_LATE
        )
        process = subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, check=False, cwd=ROOT
        )
        if process.returncode != TOO_LATE:
            break
    return process.returncode, process.stdout, process.stderr


@pytest.mark.parametrize(
    ("work", "target", "layers"),
    [
        ("lowered.compile()", "None", 50),
        ("staged(x)", "None", 50),
        ("lowered.compile()", "ox.target('gpu', 'h200')", 8),
    ],
    ids=["compile", "call", "gpu"],
)
def test_an_interrupted_compilation_ends_before_the_process(work, target, layers):
    assert run(work, target, layers) == (0, "interrupted\n", "")


def test_the_next_compilation_does_not_wait_for_an_interrupted_one():
    after = "print(float(ox.jit(lambda y: y + 1)(ox.numpy.float32(1))), bool(compiling()))"
    assert run("lowered.compile()", after=after) == (0, "interrupted\n2.0 True\n", "")


def test_a_second_interrupt_ends_the_process():
    after = """
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
print("the end", flush=True)
"""
    code, output, error = run("lowered.compile()", layers=120, after=after)
    assert (code, output) == (130, "interrupted\nthe end\n"), error


#: The process ends while a thread compiles, and may be interrupted while it waits.
THREAD = """
import os, signal, sys, threading
import olympus as ox
from olympus_core.xla.runtime import background

signal.signal(signal.SIGINT, signal.default_int_handler)

def f(x):
    for i in range({layers}):
        x = ox.nn.softmax(ox.numpy.tanh(x @ (x * (i + 1.1))) + ox.numpy.sin(x))
    return x.sum()

lowered = ox.jit(ox.grad(f)).lower(ox.ShapeDtypeStruct((64, 64), "float32"))
threading.Thread(target=lowered.compile, daemon={daemon}).start()
while not background._running:
    pass
if {interrupted}:
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.daemon = True  # otherwise Python waits for it too
    timer.start()
print("the end")
"""


@pytest.mark.parametrize(("daemon", "interrupted"), diagonals([True, False], [True, False], 2))
def test_a_process_may_end_while_a_thread_compiles(daemon, interrupted):
    # the longer compilation is still running when the interrupt arrives
    layers = 120 if interrupted else 20
    source = THREAD.format(daemon=daemon, interrupted=interrupted, layers=layers)
    process = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False, cwd=ROOT
    )
    code = 130 if interrupted else 0
    assert (process.returncode, process.stdout) == (code, "the end\n"), process.stderr
    assert interrupted or process.stderr == ""


def test_another_thread_can_compile():
    source = """
import threading
import olympus as ox

results = []
thread = threading.Thread(target=lambda: results.append(float(ox.jit(lambda y: y * 3)(2.0))))
thread.start()
thread.join()
print(results)
"""
    process = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (process.returncode, process.stdout, process.stderr) == (0, "[6.0]\n", "")
