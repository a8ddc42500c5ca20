"""`python -m benchmarks.layers`: layers of networks by the kernels of onnxruntime and of XLA.

A program is a chain of equal layers with different weights, so that no weights stay in the cache of
a processor. XLA has two kernels for a convolution or a product, Eigen's and YNNPACK's. All run in
turns, in one process for each number of threads. A figure is the median of the wall times of a
layer; the ratio is that of the faster kernel's to onnxruntime's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks.onnx import drawn_weight, seconds_of

ROUNDS = 15
COUNT = 20  # layers of a chain
#: The option without which XLA gives products and convolutions to Eigen.
_YNNPACK = "xla_cpu_experimental_ynn_fusion_type"


class Layer(NamedTuple):
    """A convolution of a square image by a square kernel, or without a kernel a product."""

    positions: int  # of an axis of the image; the rows of a product
    features: int  # before and after the layer
    kernel: int = 0

    @property
    def name(self) -> str:
        """The name in the table."""
        n, c, k = self
        return f"{k} x {k}, {n} x {n}, {c} features" if k else f"product, {n} x {c} by {c} x {c}"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that XLA takes: features last."""
        n, c, k = self
        return (1, n, n, c) if k else (n, c)

    def weights(self) -> list[np.ndarray[Any, Any]]:
        """The weights of the chain, as onnxruntime takes them: (output, input, rows, columns)."""
        _, c, k = self
        shape = (c, c, k, k) if k else (c, c)
        return [drawn_weight(shape, np.random.default_rng(i)) / 2**0.5 for i in range(COUNT)]


LAYERS = [
    Layer(64, 1024),  # of the perceptron of `benchmarks.onnx`
    *[Layer(56, 64, k) for k in (1, 3)],  # the layers of ResNet-50
    *[Layer(28, 128, k) for k in (1, 3)],
    *[Layer(14, 256, k) for k in (1, 3)],
    *[Layer(7, 512, k) for k in (1, 3)],
]


def onnx_model(layer: Layer) -> bytes:
    """Return the chain as an ONNX model: features come first there."""
    from onnx import TensorProto, helper, numpy_helper

    n, c, k = layer
    shape = [1, c, n, n] if k else [n, c]
    window: Any = {"kernel_shape": [k, k], "pads": [k // 2] * 4} if k else {}
    kind = "Conv" if k else "MatMul"
    nodes = [
        helper.make_node(kind, [f"x{i}", f"w{i}"], [f"x{i + 1}"], **window) for i in range(COUNT)
    ]
    first, last = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
        for name in ("x0", f"x{COUNT}")
    )
    weights = [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(layer.weights())]
    graph = helper.make_graph(nodes, "chain", first, last, weights)
    opset = [helper.make_opsetid("", 17)]
    content: bytes = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    return content


def stablehlo_module(layer: Layer) -> str:
    """Return the chain as a StableHLO module of an array and the weights."""
    n, c, k = layer
    array = f"tensor<1x{n}x{n}x{c}xf32>" if k else f"tensor<{n}x{c}xf32>"
    weight = f"tensor<{k}x{k}x{c}x{c}xf32>" if k else f"tensor<{c}x{c}xf32>"
    types = f"({array}, {weight}) -> {array}"
    if k:
        window = f"window = {{pad = [[{k // 2}, {k // 2}], [{k // 2}, {k // 2}]]}}"
        how = f"dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], {window}"
        counts = "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
        step = f"stablehlo.convolution(%x{{i}}, %w{{i}}) {how} {counts} : {types}"
    else:
        step = f"stablehlo.dot_general %x{{i}}, %w{{i}}, contracting_dims = [1] x [0] : {types}"
    step = step.replace("{", "{{").replace("}", "}}").replace("{{i}}", "{i}")
    arguments = ", ".join([f"%x0: {array}", *[f"%w{i}: {weight}" for i in range(COUNT)]])
    steps = "\n".join(f"%x{i + 1} = {step.format(i=i)}" for i in range(COUNT))
    return f"func.func @main({arguments}) -> {array} {{\n{steps}\nreturn %x{COUNT} : {array}\n}}"


def operands(layer: Layer) -> tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]]]:
    """Return the array that the ONNX model takes, and the array and weights of the module."""
    x = np.random.default_rng(0).standard_normal(layer.shape).astype("float32")
    if not layer.kernel:
        return x, [x, *layer.weights()]
    weights = [np.transpose(w, (2, 3, 1, 0)) for w in layer.weights()]
    return np.ascontiguousarray(np.moveaxis(x, -1, 1)), [x, *map(np.ascontiguousarray, weights)]


def sides(layer: Layer, threads: int) -> dict[str, Callable[[], Any]]:
    """Return the calls of the chain: by onnxruntime, and by each kernel of XLA."""
    import onnxruntime

    from olympus_core import xla

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    # its threads would wait in a loop, on the processors that the other sides need
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(
        onnx_model(layer), settings, providers=["CPUExecutionProvider"]
    )
    first, arrays = operands(layer)
    buffers = [xla.put(a) for a in arrays]
    text = stablehlo_module(layer).encode()

    def kernel(options: dict[str, str]) -> Callable[[], Any]:
        # a program may not set the option
        name = "olympus_core.xla.runtime.product_kernels.product_options"
        with mock.patch(name, lambda *_: options):
            program: Any = xla.compile(text, xla.target("cpu"))
        return lambda: np.asarray(program.execute(buffers)[0])

    return {
        "onnxruntime": lambda: session.run(None, {"x0": first})[0],
        "Eigen": kernel({_YNNPACK: ""}),
        "YNNPACK": kernel({}),
    }


def row(layer: Layer, threads: int, rounds: int) -> str:
    """Return the row of a layer in the table."""
    calls = sides(layer, threads)
    results = {name: call() for name, call in calls.items()}
    want = results["onnxruntime"]
    for name, got in results.items():
        same = np.moveaxis(got, -1, 1) if got.shape != want.shape else got
        np.testing.assert_allclose(same, want, atol=1e-3 * np.max(np.abs(want)), err_msg=name)
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            samples[name].append(seconds_of(call, perf_counter) / COUNT)
    times = {name: 1e6 * float(np.median(v)) for name, v in samples.items()}
    cells = [str(threads), *[f"{t:.0f}" for t in times.values()]]
    ratio = min(times["Eigen"], times["YNNPACK"]) / times["onnxruntime"]
    return " | ".join([f"| {layer.name}", *cells, f"{ratio:.2f} |"])


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the layers and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.layers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: {ROUNDS}")
    parser.add_argument("--threads", type=int, default=0, help="default: one, and all")
    parser.add_argument("--worker", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.worker >= 0:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
        print(row(LAYERS[options.worker], options.threads, options.rounds))
        return 0
    print("| layer | threads | onnxruntime, us | Eigen, us | YNNPACK, us | ratio |")
    print("| --- |" + " ---: |" * 5)
    cores = len(os.sched_getaffinity(0))
    for threads in [options.threads] if options.threads else sorted({1, cores}):
        for i in range(len(LAYERS)):
            given = ["--worker", str(i), "--threads", str(threads), "--rounds", str(options.rounds)]
            command = [sys.executable, "-m", "benchmarks.layers", *given]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            print(done.stdout.splitlines()[-1], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
