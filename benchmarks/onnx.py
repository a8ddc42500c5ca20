"""`python -m benchmarks.onnx`: ONNX models, compiled by OLYMPUS and run by onnxruntime.

The models are the networks of the package onnx, whose files have no weights: they are drawn, of the
sizes in the file. Both sides run each model in turns, in one process for each number of threads, on
one image. The Markdown table has the ratio OLYMPUS / onnxruntime of the time of a call: the median
of the rounds and its quartiles. With one thread, the time is the processor time of the process,
which other programs on the machine hardly change; with several, it is the wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pairs import paired_ratio

ROUNDS = 7
RUN_SECONDS = 0.5  # of each side in a round
MOST_CALLS = 100
#: Models of matrix products, in ONNX's syntax: there are none in the package.
PRODUCTS = {
    "perceptron": """
        g (float[64, 1024] x) => (float[64, 1024] y) {
            h = MatMul(x, w1) r = Relu(h) i = MatMul(r, w2) s = Relu(i) y = MatMul(s, w3)
        }""",
    "attention": """
        g (float[256, 512] x) => (float[256, 512] y) {
            q = MatMul(x, w1) k = MatMul(x, w2) v = MatMul(x, w3) t = Transpose <perm = [1, 0]>(k)
            s = MatMul(q, t) p = Softmax <axis = -1>(s) y = MatMul(p, v)
        }""",
}


def light_models() -> dict[str, Path]:
    """Return the files of the networks in the package onnx, by name."""
    import onnx

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return {path.stem.removeprefix("light_"): path for path in sorted(folder.glob("*.onnx"))}


def model_of(name: str) -> Any:
    """Return a model with drawn weights."""
    import onnx

    if name in PRODUCTS:
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]>{PRODUCTS[name]}')
        size = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
        shapes = {f"w{i}": (size, size) for i in (1, 2, 3)}
    else:
        model = onnx.load(light_models()[name])
        tensors = {x.name: onnx.numpy_helper.to_array(x) for x in model.graph.initializer}
        fills = [x for x in model.graph.node if x.op_type == "ConstantOfShape"]
        shapes = {x.output[0]: tuple(map(int, tensors[x.input[0]])) for x in fills}
        _replace_fills(model.graph, fills)
    for i, (weight, shape) in enumerate(shapes.items()):
        array = drawn_weight(shape, np.random.default_rng(i))
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, weight))
    return model


def _replace_fills(graph: Any, fills: Sequence[Any]) -> None:
    """Remove nodes that fill weights, with the sizes that they take."""
    sizes = {name for node in fills for name in node.input}
    for node in fills:
        graph.node.remove(node)
    for values in (graph.initializer, graph.input):
        for value in [x for x in values if x.name in sizes]:
            values.remove(value)


def drawn_weight(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Return a weight that keeps the scale of its input; a vector is positive, as a variance is."""
    if len(shape) < 2:
        return rng.uniform(0.5, 1.5, shape).astype("float32")
    fan_in = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
    return rng.normal(0, (2 / fan_in) ** 0.5, shape).astype("float32")


def compiled_sides(model: Any, threads: int) -> tuple[list[Callable[[], Any]], list[float]]:
    """Return the calls of OLYMPUS and of onnxruntime, and the seconds to make them ready."""
    import onnxruntime

    import olympus.interop.onnx

    content = model.SerializeToString()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 3  # errors: it warns of unused weights
    # its threads would wait in a loop, on the processors that the other side needs
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    seconds = [time.perf_counter()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(content)
        loaded = olympus.interop.onnx.load(path)
        ours = loaded.trace(weights="constants").lower().compile()
    seconds.append(time.perf_counter())
    session = onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])
    seconds.append(time.perf_counter())
    info = loaded.inputs[0]
    shape = [size if isinstance(size, int) else 1 for size in info.dims or ()]
    x = np.random.default_rng(0).standard_normal(shape).astype(info.dtype)
    calls = [lambda: np.asarray(ours(x)), lambda: session.run(None, {info.name: x})[0]]
    return calls, list(np.diff(seconds))


def measured(name: str, threads: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of a call of both sides in each round, and their largest difference."""
    calls, ready = compiled_sides(model_of(name), threads)
    ours, theirs = [call() for call in calls]
    difference = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
    samples: list[list[float]] = [[], []]
    clock = time.process_time if threads == 1 else time.perf_counter
    for _ in range(rounds):
        longest = max(seconds_of(call, clock) for call in calls)
        count = max(3, min(MOST_CALLS, int(RUN_SECONDS / longest)))
        pairs = np.array([[seconds_of(call, clock) for call in calls] for _ in range(count)])
        for side, median in zip(samples, np.median(pairs, axis=0), strict=True):
            side.append(float(median))
    return {"samples": samples, "ready": ready, "difference": difference}


def seconds_of(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Return the seconds of a call, by a clock."""
    start = clock()
    call()
    return clock() - start


def row(name: str, threads: int, result: dict[str, Any]) -> str:
    """Return the row of a model in the table."""
    ratio = paired_ratio(*result["samples"])
    milliseconds = [1e3 * float(np.median(side)) for side in result["samples"]]
    return (
        f"| {name} | {threads} | {milliseconds[1]:.2f} | {milliseconds[0]:.2f} "
        f"| {ratio.median:.2f} ({ratio.q1:.2f} .. {ratio.q3:.2f}) | {result['ready'][1]:.1f} "
        f"| {result['ready'][0]:.1f} | {result['difference']:.0e} |"
    )


def child(name: str, threads: int, rounds: int) -> dict[str, Any]:
    """Return the result of `measured` from a process with a number of threads."""
    options = ["--worker", name, "--threads", str(threads), "--rounds", str(rounds)]
    command = [sys.executable, "-m", "benchmarks.onnx", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the models and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.onnx", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: {ROUNDS}")
    parser.add_argument("--only", default="", help="the models with this text in their names")
    parser.add_argument("--threads", type=int, default=0, help="default: one, and all")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.worker:
        allowed = sorted(os.sched_getaffinity(0))[: options.threads]
        os.sched_setaffinity(0, allowed)
        print(json.dumps(measured(options.worker, options.threads, options.rounds)))
        return 0
    columns = "onnxruntime, ms | OLYMPUS, ms | ratio | onnxruntime, load, s | OLYMPUS, build, s"
    print(f"| model | threads | {columns} | difference |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    cores = len(os.sched_getaffinity(0))
    for threads in [options.threads] if options.threads else sorted({1, cores}):
        for name in [*PRODUCTS, *light_models()]:
            if options.only in name:
                print(row(name, threads, child(name, threads, options.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
