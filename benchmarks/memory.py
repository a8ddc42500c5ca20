"""`python -m benchmarks.memory`: the memory of the examples, by OLYMPUS and by XLA, as Markdown.

The last two tables compare the reported memory of programs with the growth of a process that runs
them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import olympus
import olympus.numpy as jnp
from benchmarks.programs import EXAMPLES
from olympus_cli.frontends.loading import load_target
from olympus_cli.spec.project import load_project

MIB = 2**20
SIDE = 4096  # float32[SIDE, SIDE] has 64 MiB, more than any pool of the runtime
ROWS = 2048  # of matrices in the programs with products
BACKENDS = (olympus.Target("cpu"), olympus.Target("gpu", "h200"))


def rows(backend: olympus.Target) -> Iterator[str]:
    """Yield a row for each target of the examples: peak, allocated memory, and XLA's peak."""
    for folder in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        for spec in load_project(folder).targets.values():
            compiled = load_target(spec).trace().lower(backend).compile()
            memory = compiled.memory()
            xla_peak = compiled.memory_analysis().peak_memory_in_bytes
            figures = [_mib(memory.peak), _mib(memory.allocated)]
            if backend.backend == "gpu":
                ratio = f"{memory.peak / xla_peak:.4f}" if xla_peak and memory.peak else "-"
                figures += [_mib(xla_peak), ratio]
            yield f"| {folder.name} {spec.name} | {' | '.join(figures)} |"


def _mib(size: int | None) -> str:
    return "-" if size is None else f"{size / MIB:.3f}"


def _chain(length: int) -> Callable[..., Any]:
    def function(x: olympus.Array) -> olympus.Array:
        y = x
        for _ in range(length):
            y = jnp.tanh(y @ x)
        return y.sum()

    return function


def _attention(q: olympus.Array, k: olympus.Array, v: olympus.Array) -> olympus.Array:
    scores = jnp.einsum("hqd,hkd->hqk", q, k)
    return olympus.nn.softmax(scores) @ v


def _independent(x: olympus.Array, y: olympus.Array) -> list[olympus.Array]:
    return [(x @ x).sum(), (y @ y).sum(), (jnp.tanh(x) @ y).sum(), (jnp.sin(y) @ x).sum()]


def _loss(weights: list[olympus.Array], x: olympus.Array) -> olympus.Array:
    for weight in weights:
        x = jnp.maximum(x @ weight, 0)
    return (x**2).sum()


def _step(weights: list[olympus.Array], x: olympus.Array) -> list[olympus.Array]:
    return [w - 1e-3 * g for w, g in zip(weights, olympus.grad(_loss)(weights, x), strict=True)]


def _array(*shape: int) -> olympus.ShapeDtypeStruct:
    return olympus.ShapeDtypeStruct(shape, "float32")


#: Programs with matrix products, which kernels of the CPU fuse, and their arguments.
PRODUCTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "product and sum": (lambda x: (x @ x).sum(), (_array(ROWS, ROWS),)),
    "chain of 2 products": (_chain(2), (_array(ROWS, ROWS),)),
    "chain of 8 products": (_chain(8), (_array(ROWS, ROWS),)),
    "4 independent products": (_independent, (_array(ROWS, ROWS),) * 2),
    "attention of 8 heads": (_attention, (_array(8, ROWS, 64),) * 3),
    "loss of an MLP": (_loss, ([_array(ROWS, ROWS)] * 3, _array(2 * ROWS, ROWS))),
    "training step of an MLP": (_step, ([_array(ROWS, ROWS)] * 3, _array(2 * ROWS, ROWS))),
}


def product_growth(name: str) -> tuple[float, float, float, float]:
    """Return the peak, the allocations, their upper bound, and the growth of this process.

    All are in MiB, without the arguments.
    """
    import numpy as np

    function, shapes = PRODUCTS[name]
    small = jnp.asarray(np.zeros((8, 8), np.float32))
    olympus.jit(_chain(1)).lower(small).compile()(small)  # the first call allocates more
    compiled = olympus.jit(function).lower(*shapes).compile()
    arguments = olympus.tree.map(lambda s: jnp.asarray(np.zeros(s.shape, s.dtype)), shapes)
    memory = compiled.memory()
    before = _peak()
    olympus.block_until_ready(compiled(*arguments))
    assert memory.peak is not None
    assert memory.allocated is not None
    assert memory.allocated_bound is not None
    size = memory.arguments or 0
    planned = (memory.peak - size) / MIB, (memory.allocated - size) / MIB
    return *planned, (memory.allocated_bound - size) / MIB, (_peak() - before) / MIB


def growth(width: int) -> tuple[float, float, float]:
    """Return the peak, the allocations, and the growth of this process, in MiB.

    The arguments are not included. In the program, `width` matrices are live at the same time.
    """
    import numpy as np

    def function(x: olympus.Array) -> list[olympus.Array]:
        matrices = olympus.lax.optimization_barrier([jnp.sort(x + i) for i in range(width)])
        return [jnp.sum(matrix) for matrix in matrices]

    argument = jnp.asarray(np.zeros((SIDE, SIDE), np.float32))
    small = jnp.asarray(np.zeros((8, 8), np.float32))
    olympus.jit(function).lower(small).compile()(small)  # the first call allocates more
    compiled = olympus.jit(function).lower(argument).compile()
    memory = compiled.memory()
    before = _peak()
    olympus.block_until_ready(compiled(argument))
    assert memory.peak is not None
    assert memory.allocated is not None
    size = memory.arguments or 0
    return (memory.peak - size) / MIB, (memory.allocated - size) / MIB, (_peak() - before) / MIB


def _peak() -> int:
    """Return the peak memory of this process; `getrusage` includes a parent's."""
    status = Path("/proc/self/status").read_text()
    (kibibytes,) = re.findall(r"VmHWM:\s*(\d+) kB", status)
    return int(kibibytes) * 1024


def main() -> int:
    """Print the tables."""
    if len(sys.argv) == 2 and sys.argv[1] in PRODUCTS:
        name = sys.argv[1]
        print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |".format(name, *product_growth(name)))
        return 0
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
        _in_a_process(str(width))
    columns = "program", "peak", "allocated", "allocated at most", "growth of the process"
    print(f"\n| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|")
    for name in PRODUCTS:
        _in_a_process(name)
    return 0


def _in_a_process(row: str) -> None:
    """Print a row, measured in a separate process."""
    command = [sys.executable, "-m", "benchmarks.memory", row]
    subprocess.run(command, cwd=Path(__file__).parents[1], check=True)


if __name__ == "__main__":
    sys.exit(main())
