"""`python -m benchmarks.deployment`: the first result of a compiled program, and its calls.

Each side is a fresh process, and the sides run in turns, in an order that rotates. The time is from
the start of the process to the first result as a NumPy array. C is a side with `--plugin FILE`, a
PJRT plugin of the CPU; its time is that of the whole process. Memory is the peak of the resident
set at the first result. The calls are those of a program with a few operations, with NumPy arrays
in and out. The arrays are aligned to 64 bytes, so that the runtime need not copy them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.cells import cell, grid, number
from olympus_cli.bench.statistics import summarize

ROOT = Path(__file__).parents[1]
ROUNDS, CALLS = 11, 20_000

#: The programs: their sources in a module of their own, for JAX and for OLYMPUS.
SOURCE = """
SIZES = (784, 512, 256, 10)

def layers(np, params, x):
    for layer in params[:-1]:
        x = np.maximum(x @ layer["w"] + layer["b"], 0)
    return x @ params[-1]["w"] + params[-1]["b"]

def scaled(np, x):
    return np.tanh(x * 2 + 1)

def arguments(name, array):
    if name == "scaled":
        return (array((8,), "float32"),)
    pairs = zip(SIZES[:-1], SIZES[1:])
    params = [{"w": array((n, m), "float32"), "b": array((m,), "float32")} for n, m in pairs]
    return params, array((1, 784), "float32")
"""
PREPARE = """
import functools, sys
import numpy, programs, olympus, olympus.numpy, jax, jax.numpy
from jax import export
from olympus import artifact
name = sys.argv[1]
f = getattr(programs, name)
traced = olympus.jit(functools.partial(f, olympus.numpy)).trace(
    *programs.arguments(name, olympus.ShapeDtypeStruct))
lowered = traced.lower()
artifact.save(name + ".olympus", lowered.compile(), lowered=lowered, name=name,
              entry="programs:" + name, olympuspr_text=str(traced.olympuspr))
exported = export.export(jax.jit(functools.partial(f, jax.numpy)))(
    *programs.arguments(name, jax.ShapeDtypeStruct))
open(name + ".jax_export", "wb").write(exported.serialize())
for i, x in enumerate(jax.tree.leaves(programs.arguments(name, numpy.zeros))):
    numpy.save(f"{name}{i}.npy", x)
"""
#: The sides in Python: sources that define `call`, for the program `name`.
SIDES = {
    "olympus_runtime": """
import numpy as np
from olympus_runtime import load
call = load(name + ".olympus")
""",
    "olympus": """
import numpy as np
from olympus import artifact
call = artifact.load(name + ".olympus").compiled()
""",
    "jax.export": """
import numpy as np
from jax import export
call = export.deserialize(bytearray(open(name + ".jax_export", "rb").read())).call
""",
    "JAX, warm cache": """
import functools
import numpy as np, jax, jax.numpy
jax.config.update("jax_compilation_cache_dir", "cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
import programs
call = jax.jit(functools.partial(getattr(programs, name), jax.numpy))
""",
}
_FIRST = """
import math, programs
def zeros(shape, dtype):  # aligned to 64 bytes: the runtime need not copy
    size = 4 * math.prod(shape)
    memory = np.zeros(size + 64, "uint8")
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)
args = programs.arguments(name, zeros)
np.asarray(call(*args))
print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0], flush=True)
"""
_CALLS = """
import time
if "jax" in __import__("sys").modules and hasattr(call, "lower"):
    call = call.lower(*args).compile()
start = time.perf_counter()
for _ in range(calls):
    np.asarray(call(*args))
print((time.perf_counter() - start) / calls)
"""


class First(NamedTuple):
    """The first result of a fresh process: seconds, and the peak memory in bytes."""

    seconds: float
    memory: int


def prepare(folder: Path) -> None:
    """Write the programs in all forms to a folder, and fill the caches.

    They are JAX's compilation cache, and Python's cache of the modules that a side imports.
    """
    (folder / "programs.py").write_text(SOURCE, encoding="utf-8")
    for name in ("layers", "scaled"):
        _run([sys.executable, "-c", PREPARE, name], folder)
    for side in SIDES:
        first_result(side, folder)


def _environment(folder: Path) -> dict[str, str]:
    others = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join([str(folder), str(ROOT)])
    cache = str(folder / "pycache")
    return {**others, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": cache, "JAX_PLATFORMS": "cpu"}


def _run(command: Sequence[str], folder: Path) -> str:
    environment = _environment(folder)
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def first_result(side: str, folder: Path) -> First:
    """Run the program `layers` in a fresh process of a side in Python."""
    source = f"name = 'layers'\n{SIDES[side]}{_FIRST}"
    command = [sys.executable, "-c", source]
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=_environment(folder), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"the side {side} failed")
    return First(seconds, int(line) * 1024)


def seconds_per_call(side: str, folder: Path, calls: int) -> float:
    """Return the time of a call of the program `scaled`, in a process of a side in Python."""
    source = f"name, calls = 'scaled', {calls}\n{SIDES[side]}{_FIRST}{_CALLS}"
    return float(_run([sys.executable, "-c", source], folder).split()[-1])


class InC:
    """The side in C: the programs that `olympus export --format c` wrote, compiled with `cc`."""

    def __init__(self, folder: Path, plugin: Path) -> None:
        self.folder, self.plugin = folder, plugin.absolute()
        for name in ("layers", "scaled"):
            export = ["export", f"{name}.olympus", "--format", "c", "--output", f"{name}-c"]
            _run([sys.executable, "-m", "olympus_cli", *export], folder)
            sources = [path.name for path in (folder / f"{name}-c").glob("*.c")]
            _run(
                ["cc", "-O2", "-o", name, *sources, "-ldl", "-lm", "-lpthread"],
                folder / f"{name}-c",
            )

    def _command(self, name: str, *options: str) -> list[str]:
        count = len([*self.folder.glob(f"{name}[0-9]*.npy")])
        arrays = [str(self.folder / f"{name}{i}.npy") for i in range(count)]
        return [f"./{name}", "--plugin", str(self.plugin), *options, *arrays]

    def first_result(self) -> First:
        """Run the program `layers` in a fresh process."""
        start = time.perf_counter()
        process = subprocess.Popen(
            self._command("layers"), cwd=self.folder / "layers-c", stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit("the side in C failed")
        return First(seconds, usage.ru_maxrss * 1024)

    def seconds_per_call(self, calls: int) -> float:
        """Return the time of a call of the program `scaled`."""
        text = _run(self._command("scaled", "--repeat", str(calls)), self.folder / "scaled-c")
        match = re.search(r"per call ([0-9.]+) s", text)
        assert match is not None, text
        return float(match[1])


Results = Mapping[str, Mapping[str, Sequence[float]]]


def measure(folder: Path, rounds: int, calls: int, plugin: Path | None) -> Results:
    """Return the samples of each side: seconds and memory of first results, seconds of calls."""
    prepare(folder)
    in_c = None if plugin is None else InC(folder, plugin)
    names = [*SIDES, *(["C"] if in_c is not None else [])]
    results: dict[str, dict[str, list[float]]] = {
        name: {"first": [], "memory": [], "call": []} for name in names
    }
    for i in range(rounds):
        start = i % len(names)
        for name in names[start:] + names[:start]:
            c = in_c if name == "C" else None
            first = first_result(name, folder) if c is None else c.first_result()
            each = seconds_per_call(name, folder, calls) if c is None else c.seconds_per_call(calls)
            for key, value in zip(("first", "memory", "call"), (*first, each), strict=True):
                results[name][key].append(value)
    return results


def table(results: Results) -> str:
    """Return the samples as a Markdown table: medians and quartiles."""
    rows = []
    for name, samples in results.items():
        first = summarize([1e3 * x for x in samples["first"]])
        memory = summarize([x / 1e6 for x in samples["memory"]])
        call = summarize([1e6 * x for x in samples["call"]])
        rate = number(1e3 / call.median)
        rows.append((name, cell(first, "ms"), cell(memory, "MB"), cell(call, "µs"), rate))
    head = ("side", "first result", "peak memory", "call", "thousand calls per second")
    return grid(head, rows)


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deployment", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--plugin", type=Path, help="a PJRT plugin of the CPU, for the side in C")
    parser.add_argument("--json", type=Path, help="write the samples")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(Path(folder), options.rounds, options.calls, options.plugin)
    if options.json is not None:
        options.json.write_text(json.dumps(results), encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
