"""`python -m benchmarks.memory`. In: the examples. Out: Markdown; ours and XLA's memory of each.

The last table is of a program that runs: what it is said to need, and what its process then took.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import olympus
import olympus.numpy as jnp
from benchmarks.programs import EXAMPLES
from olympus_cli.frontends.python import load_target
from olympus_cli.spec.project import load_project

MIB = 2**20
SIDE = 4096  # a matrix of float32[SIDE, SIDE] has 64 MiB: more than any pool of the runtime keeps
BACKENDS = (olympus.Target("cpu"), olympus.Target("gpu", "h200"))


def rows(backend: olympus.Target) -> Iterator[str]:
    """A row for each target of the examples: ours, XLA's own peak, what is reserved."""
    for folder in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        for spec in load_project(folder).targets.values():
            made = load_target(spec).trace().lower(backend).compile()
            memory, told = made.memory(), made.memory_analysis()
            xlas = told.peak_memory_in_bytes
            figures = [_mib(memory.peak), _mib(memory.allocated)]
            if backend.backend == "gpu":
                ratio = f"{memory.peak / xlas:.4f}" if xlas and memory.peak else "-"
                figures += [_mib(xlas), ratio]
            yield f"| {folder.name} {spec.name} | {' | '.join(figures)} |"


def _mib(size: int | None) -> str:
    return "-" if size is None else f"{size / MIB:.3f}"


def growth(width: int) -> tuple[float, float, float]:
    """The peak, the allocations, and the growth of this process by a run; arguments left out, MiB.

    The program holds `width` matrices at once.
    """
    import numpy as np

    def function(x: olympus.Array) -> list[olympus.Array]:
        held = olympus.lax.optimization_barrier([jnp.sort(x + i) for i in range(width)])
        return [jnp.sum(h) for h in held]

    argument = jnp.asarray(np.zeros((SIDE, SIDE), np.float32))
    small = jnp.asarray(np.zeros((8, 8), np.float32))
    olympus.jit(function).lower(small).compile()(small)  # what the first call of all needs
    made = olympus.jit(function).lower(argument).compile()
    memory = made.memory()
    before = _most()
    olympus.block_until_ready(made(argument))
    assert memory.peak is not None
    assert memory.allocated is not None
    held = memory.arguments or 0
    return (memory.peak - held) / MIB, (memory.allocated - held) / MIB, (_most() - before) / MIB


def _most() -> int:
    """The most that this process had in memory so far; `getrusage` tells a parent's too."""
    status = Path("/proc/self/status").read_text()
    (kibibytes,) = re.findall(r"VmHWM:\s*(\d+) kB", status)
    return int(kibibytes) * 1024


def main() -> int:
    """Print the tables."""
    if len(sys.argv) == 2:
        print("| {} | {:.1f} | {:.1f} | {:.1f} |".format(sys.argv[1], *growth(int(sys.argv[1]))))
        return 0
    for backend in BACKENDS:
        more = " | XLA's peak | peak / XLA's peak |" if backend.backend == "gpu" else " |"
        print(f"\n{backend}, MiB\n\n| program | peak | allocated{more}")
        print("| --- " * (3 + 2 * (backend.backend == "gpu")) + "|")
        for row in rows(backend):
            print(row, flush=True)
    print("\n| matrices | peak | allocated | growth of the process |\n| --- | --- | --- | --- |")
    for width in (2, 4, 8):
        command = [sys.executable, "-m", "benchmarks.memory", str(width)]
        subprocess.run(command, cwd=Path(__file__).parents[1], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
