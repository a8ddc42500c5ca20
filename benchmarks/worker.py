"""One measurement in a process of its own. In: framework and task as argv. Out: a line of JSON.

Nothing but `sys` and `time` is imported before the framework, so that the time of importing it
includes everything it needs, whichever side needs it.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False  # without importing typing, see above
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from benchmarks.samples import Samples

WARM_UPS = 2  # repetitions after the first that are not counted
CALLS = 300  # calls in one timed batch
BATCHES = 15
STEPS = {"run": 10, "run_gpt": 1}  # training steps in one timed batch


def main() -> None:
    """`FRAMEWORK TASK REPEAT LIMIT SIDE`: imports the framework, runs the task, prints its samples.

    The last two concern the tasks that compile a program whole.
    """
    framework, task, repeat, limit, side = sys.argv[1:6]
    start = time.perf_counter()
    ox = __import__(framework)
    imported = time.perf_counter() - start
    import json

    if "/" in task:
        from benchmarks.whole import costs  # imports olympus

        samples = costs(ox, task, side, int(repeat), int(limit))
    else:
        samples = run(ox, task, int(repeat), start)
    result: dict[str, Any] = {"samples": samples}
    if task == "import":
        from benchmarks.samples import peak_memory

        result["samples"] |= {"import": [imported], "memory": [peak_memory()]}
    result["versions"] = versions(framework)
    print(json.dumps(result))


def run(ox: Any, task: str, repeat: int, start: float) -> dict[str, Any]:
    """The samples of `task`, in seconds or bytes, or counts; of "cost" those of either side."""
    if task == "import":
        return {}
    if task == "call":
        return call_overhead(ox)
    if task == "cost":
        return counting(ox, repeat)
    if task in STEPS:
        return training(ox, task, repeat)
    if task.startswith("scaling"):
        from benchmarks.scaling import SCALING, costs

        return costs(ox, SCALING[task], repeat)
    return stages(ox, task, repeat, start)


def stages(ox: Any, name: str, repeat: int, start: float) -> Samples:
    """Trace and lower the program once as a newcomer, then `repeat` times with warm caches."""
    import gc

    from benchmarks.programs import PROGRAMS, load
    from benchmarks.samples import peak_memory

    fresh, args = load(PROGRAMS[name], ox.__name__)
    first, lowered = trace_and_lower(ox, fresh(), args)
    samples: Samples = {"start": [time.perf_counter() - start], "first": [first["both"]]}
    samples["ops"] = [count_ops(lowered.as_text())]
    for i in range(WARM_UPS + repeat):
        gc.collect()  # each repetition starts with the same heap; the collector stays on
        seconds, _ = trace_and_lower(ox, fresh(), args)
        if i >= WARM_UPS:
            for measure, value in seconds.items():
                samples.setdefault(measure, []).append(value)
    samples["memory"] = [peak_memory()]
    return samples


def counting(ox: Any, repeat: int) -> dict[str, Samples]:
    """Seconds to lower each program, and to count what it costs, by turns.

    Repeated blocks are written out, so that there is the most to count.
    """
    import gc

    from benchmarks.programs import PROGRAMS, load

    samples: dict[str, Samples] = {"cost": {}, "lower": {}}
    for name, program in PROGRAMS.items():
        fresh, args = load(program, ox.__name__)
        for i in range(WARM_UPS + repeat):
            traced = ox.jit(fresh()).trace(*args)
            gc.collect()
            start = time.perf_counter()
            lowered = traced.lower(repeats="off")
            between = time.perf_counter()
            lowered.cost()
            end = time.perf_counter()
            if i >= WARM_UPS:
                samples["lower"].setdefault(name, []).append(between - start)
                samples["cost"].setdefault(name, []).append(end - between)
    return samples


def trace_and_lower(
    ox: Any, function: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[dict[str, float], Any]:
    """The seconds that tracing and lowering took, and the Lowered.

    `cpu` is processor time, of all threads: what other programs do delays it little.
    """
    cpu = time.process_time()
    start = time.perf_counter()
    traced = ox.jit(function).trace(*args)
    between = time.perf_counter()
    lowered = traced.lower()
    end = time.perf_counter()
    cpu = time.process_time() - cpu
    seconds = {"trace": between - start, "lower": end - between, "both": end - start, "cpu": cpu}
    return seconds, lowered


def count_ops(text: str) -> int:
    """StableHLO (and CHLO) operations and function calls in a module's text, less the returns.

    >>> count_ops("%0 = stablehlo.add %a, %b : tensor<f32>")
    1
    """
    import re

    operation = r'^\s*(?:%[\w:#, %]+ = )?"?(?:stablehlo\.(?!return)|chlo\.|(?:func\.)?call\b)'
    return len(re.findall(operation, text, re.MULTILINE))


def training(ox: Any, task: str, repeat: int) -> Samples:
    """Compile a training step, and run it; one sample a batch, which ends when its loss is there.

    `step` is the time of one step, and `cpu` the processor time that all threads spend on it.
    """
    from benchmarks.programs import RUNS, load, values

    steps = STEPS[task]
    fresh, shapes = load(RUNS[task], ox.__name__)
    lowered = ox.jit(fresh()).lower(*shapes)
    start = time.perf_counter()
    compiled = lowered.compile()
    samples: Samples = {"compile": [time.perf_counter() - start], "step": [], "cpu": []}
    params, tokens = values(RUNS[task], ox.__name__)
    for batch in range(1 + repeat):
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            loss, params = compiled(params, tokens)
        float(loss)
        if batch > 0:  # the first batch warms up
            samples["step"].append((time.perf_counter() - start) / steps)
            samples["cpu"].append((time.process_time() - cpu) / steps)
    return samples


def call_overhead(ox: Any) -> Samples:
    """Seconds of one call of an addition, by the kind of the arguments and of the function."""
    import numpy as np

    def in_tree(tree: Any) -> Any:
        return tree["x"] + tree["y"]

    def of_many(*xs: Any) -> Any:
        return sum(xs[1:], xs[0])

    def pair(x: Any, y: Any) -> Any:
        return x + y

    numbers = [np.array(3.0, "float32"), np.array(4.0, "float32")]
    arrays = [ox.numpy.asarray(x) for x in numbers]
    samples = {}
    kinds: dict[str, list[list[Any]]] = {
        "device": [arrays] * CALLS,
        "numpy": [numbers] * CALLS,
        "python": [[3.0, 4.0]] * CALLS,
        "fresh": [[float(i), i + 0.5] for i in range(CALLS)],
    }
    for kind, arguments in kinds.items():
        trees = [[{"x": x, "y": y}] for x, y in arguments]
        many = [[*xs, *[xs[0] * 0] * 98] for xs in arguments]
        rows = ((pair, arguments, ""), (in_tree, trees, "/tree"), (of_many, many, "/100"))
        for fun, passed, form in rows:
            if form and kind in ("python", "fresh"):
                continue
            staged = ox.jit(fun)
            compiled = staged.trace(*passed[0]).lower().compile()
            sums = [x + y for x, y in arguments]
            samples[f"{kind}{form}"] = per_call(compiled, passed, sums)
            samples[f"{kind}{form}/jit"] = per_call(staged, passed, sums)
    return samples


def per_call(call: Callable[..., Any], arguments: list[list[Any]], sums: list[Any]) -> list[float]:
    """Seconds a call, one sample a batch; a batch ends when its last result is there."""
    samples = []
    for batch in range(1 + BATCHES):
        start = time.perf_counter()
        for passed in arguments:
            result = call(*passed)
        value = float(result)
        if batch > 0:  # the first batch warms up
            samples.append((time.perf_counter() - start) / len(arguments))
        if value != sums[-1]:
            raise RuntimeError(f"{arguments[-1]} gave {value}")
    return samples


def versions(framework: str) -> dict[str, str]:
    """The versions of what was measured, by name."""
    import platform

    import jaxlib.version

    return {
        "Python": platform.python_version(),
        framework: str(sys.modules[framework].__version__),
        "jaxlib": str(jaxlib.version.__version__),
    }


if __name__ == "__main__":
    main()
