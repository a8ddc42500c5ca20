"""`python -m benchmarks.gpu`: programs built without a GPU, and run on one beside JAX's.

    python -m benchmarks.gpu build FOLDER --device h100-sxm   # on any machine
    python -m benchmarks.gpu run FOLDER --device h100-sxm     # on one with the GPU, and JAX for it

The first writes a bundle of each program. The second loads their executables as they are, and
compiles the same function with JAX, which chooses kernels by trials on the GPU. Both sides run in
turns in one process, on arrays on the GPU. The Markdown table has the median time of a call until
its results are ready, the ratio OLYMPUS / JAX, and the estimate of the build.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pairs import paired_ratio

ROUNDS = 15
#: A function of the library, `olympus` or `jax`, that returns a function of arrays.
Written = Callable[[Any], Callable[..., Any]]
Shape = tuple[str, tuple[int, ...]]


def product(_lib: Any) -> Callable[..., Any]:
    """Return a product of matrices."""
    return lambda x, y: x @ y


def attention(lib: Any) -> Callable[..., Any]:
    """Return causal attention."""

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = lib.numpy.einsum("bhqd,bhkd->bhqk", q, k) / 8.0
        mask = lib.numpy.tril(lib.numpy.ones((q.shape[2], q.shape[2]), bool))
        weights = lib.nn.softmax(lib.numpy.where(mask, scores, -1e9), axis=-1)
        return lib.numpy.einsum("bhqk,bhkd->bhqd", weights, v)

    return attend


def convolution(lib: Any) -> Callable[..., Any]:
    """Return a layer of a convolutional network."""
    numbers = ("NHWC", "HWIO", "NHWC")
    return lambda x, kernel: lib.nn.relu(
        lib.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)
    )


def training(lib: Any) -> Callable[..., Any]:
    """Return a step of gradient descent on a residual network."""

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = x + lib.numpy.tanh(x @ w)
        return (x**2).mean()

    return lambda weights, x: weights - 0.1 * lib.grad(loss)(weights, x)


def recurrent(lib: Any) -> Callable[..., Any]:
    """Return the states of a recurrent network."""

    def states(w: Any, x: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            state = lib.numpy.tanh(state @ w + row)
            return state, state.sum()

        return lib.lax.scan(step, lib.numpy.zeros_like(x[0]), x)

    return states


def drawn(lib: Any) -> Callable[..., Any]:
    """Return means of random numbers."""
    return lambda seed: lib.random.normal(lib.random.PRNGKey(seed), (4096, 4096)).mean(0)


PROGRAMS: dict[str, tuple[Written, list[Shape]]] = {
    "product, float32": (product, [("float32", (4096, 4096))] * 2),
    "product, bfloat16": (product, [("bfloat16", (8192, 8192))] * 2),
    "attention": (attention, [("bfloat16", (4, 16, 1024, 64))] * 3),
    "convolution": (convolution, [("float32", (64, 56, 56, 64)), ("float32", (3, 3, 64, 64))]),
    "training step": (training, [("float32", (8, 1024, 1024)), ("float32", (4096, 1024))]),
    "recurrent network": (recurrent, [("float32", (256, 256)), ("float32", (128, 64, 256))]),
    "softmax": (lambda lib: lambda x: lib.nn.softmax(x, -1), [("float32", (16384, 4096))]),
    "gelu": (lambda lib: lambda x: lib.nn.gelu(x) * 2 + 1, [("float32", (64, 1024, 1024))]),
    "sum": (lambda _: lambda x: x.sum(0), [("float32", (65536, 1024))]),
    "sort": (lambda lib: lambda x: lib.numpy.sort(x, -1), [("float32", (64, 65536))]),
    "Fourier transform": (
        lambda lib: lambda x: lib.numpy.abs(lib.numpy.fft.rfft(x)) ** 2,
        [("float32", (4096, 4096))],
    ),
    "random numbers": (drawn, [("int32", ())]),
    "linear equations": (
        lambda lib: lib.numpy.linalg.solve,
        [("float32", (1024, 1024)), ("float32", (1024, 16))],
    ),
    "eigenvalues": (
        lambda lib: lambda x: lib.numpy.linalg.eigh(x + x.T),
        [("float32", (128, 128))],
    ),
    "singular values": (
        lambda lib: lambda x: lib.numpy.linalg.svd(x, full_matrices=False),
        [("float32", (128, 64))],
    ),
}


def path_of(folder: Path, name: str) -> Path:
    """Return the path of the bundle of a program."""
    return folder / f"{name.replace(', ', '-').replace(' ', '-')}.olympus"


def build(folder: Path, target: Any) -> None:
    """Write the bundles; no GPU is needed."""
    import olympus

    folder.mkdir(parents=True, exist_ok=True)
    for name, (written, shapes) in PROGRAMS.items():
        specs = [olympus.ShapeDtypeStruct(shape, dtype) for dtype, shape in shapes]
        lowered = olympus.jit(written(olympus)).trace(*specs).lower(target)
        start = time.perf_counter()
        olympus.artifact.save(
            path_of(folder, name),
            lowered.compile(),
            lowered=lowered,
            olympuspr_text=lowered.olympuspr_text(),
            name="program",
            entry=f"benchmarks.gpu:{name}",
        )
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)


def run(folder: Path, target: Any) -> None:
    """Print the table of the times on this machine's device."""
    import olympus

    print("| program | JAX, ms | OLYMPUS, ms | OLYMPUS / JAX | estimate, ms | difference |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    device = olympus.devices(target.backend)[0]
    for name, (written, shapes) in PROGRAMS.items():
        rng = np.random.default_rng(0)
        arrays = [np.asarray(3 * rng.standard_normal(s) / 3, d) for d, s in shapes]
        program = olympus.artifact.load(path_of(folder, name)).compiled(target, recompile=False)
        ours = _timed(olympus, program, [olympus.device_put(x, device) for x in arrays])
        theirs = _of_jax(written, arrays, "cpu" if target.backend == "cpu" else "gpu")
        estimate = program.estimate().seconds
        times: tuple[list[float], list[float]] = ([], [])
        results = [call()[1] for call in (ours, theirs)]
        for _ in range(ROUNDS):
            for call, seconds in zip((ours, theirs), times, strict=True):
                seconds.append(call()[0])
        mine, jaxs = (1e3 * statistics.median(x) for x in times)
        ratio = paired_ratio(*times)
        print(
            f"| {name} | {jaxs:.3f} | {mine:.3f} | {ratio.median:.2f} | {1e3 * estimate:.3f} "
            f"| {_difference(*results):.0e} |",
            flush=True,
        )


def _of_jax(
    written: Written, arrays: Sequence[Any], platform: str
) -> Callable[[], tuple[float, list[Any]]]:
    """Return a timed call of the function compiled by JAX."""
    import jax

    placed = [jax.device_put(x, jax.devices(platform)[0]) for x in arrays]
    return _timed(jax, jax.jit(written(jax)).lower(*placed).compile(), placed)


def _timed(
    lib: Any, program: Callable[..., Any], arrays: Sequence[Any]
) -> Callable[[], tuple[float, list[Any]]]:
    """Return a function that calls a program: the seconds until its results are ready, and them."""

    def call() -> tuple[float, list[Any]]:
        start = time.perf_counter()
        results = lib.block_until_ready(program(*arrays))
        return time.perf_counter() - start, lib.tree_util.tree_leaves(results)

    return call


def _difference(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    """Return the largest difference of a first result, relative to its largest number."""
    mine, other = (np.asarray(x[0]).astype("float64") for x in (ours, theirs))
    return float(np.max(np.abs(mine - other)) / np.max(np.abs(other)))


def main(argv: Sequence[str] | None = None) -> int:
    """Build or run the programs."""
    import olympus

    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("action", choices=["build", "run"])
    parser.add_argument("folder", type=Path, help="the folder of the bundles")
    parser.add_argument("--device", help="the GPU, such as h100-sxm; cpu for a trial")
    options = parser.parse_args(argv)
    is_cpu = options.device == "cpu"
    target = olympus.Target("cpu") if is_cpu else olympus.target("gpu", options.device)
    {"build": build, "run": run}[options.action](options.folder, target)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
