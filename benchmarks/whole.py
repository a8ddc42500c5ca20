"""The time and the memory to compile and to run a whole program, by framework and task.

This runs in a process that has done nothing else, so that its peak memory is the compiler's.
"""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.deep import of_task
from benchmarks.samples import Samples, peak_memory

BATCH = 0.3  # seconds that a timed batch of calls takes at least
MAX_CALLS = 1000
MAX_BATCHES = 5


def costs(ox: Any, task: str, side: str, repeat: int, limit: int) -> Samples:
    """Seconds of each stage and of a call, the sizes in bytes, and what repeats.

    The process ends by SIGALRM where XLA takes more than `limit` seconds.
    """
    trace, arguments = of_task(task).prepare(ox, side)
    options = {"repeats": "off"} if side == "off" else {}
    start = time.perf_counter()
    lowered = trace().lower(**options)
    between = time.perf_counter()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # no handler of Python's runs within XLA
    signal.alarm(limit)
    cpu = time.process_time()
    compiled = lowered.compile()
    signal.alarm(0)
    samples = {
        "lower": [between - start],
        "compile": [time.perf_counter() - between],
        "compile_cpu": [time.process_time() - cpu],
        "memory": [peak_memory()],
        "temp": [float(compiled.memory_analysis().temp_size_in_bytes)],
        "size": [float(len(compiled.runtime_executable().serialize()))],
    }
    if side == "olympus":
        blocks = lowered.blocks
        samples["blocks"] = [float(len(blocks))]
        samples["calls"] = [float(sum(block.occurrences for block in blocks))]
    args, kwargs = arguments(compiled)
    return samples | per_call(ox, lambda: compiled(*args, **kwargs), repeat)


def per_call(ox: Any, call: Callable[[], Any], repeat: int) -> Samples:
    """Seconds a call, and of processor time in all threads, one sample a batch.

    A batch ends when its last result is there. There are `repeat` batches, or MAX_BATCHES where
    these are fewer.
    """

    def batch(calls: int) -> tuple[float, float]:
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(calls):
            result = call()
        ox.block_until_ready(result)
        return (time.perf_counter() - start) / calls, (time.process_time() - cpu) / calls

    batch(1)  # which wakes the threads
    calls = min(MAX_CALLS, math.ceil(BATCH / batch(1)[0]))
    wall, cpu = zip(*(batch(calls) for _ in range(min(repeat, MAX_BATCHES))), strict=True)
    return {"run": list(wall), "cpu": list(cpu)}


def ended_by(code: int) -> str | None:
    """Return the limit that a process with exit code `code` exceeded: "time", "memory" or None."""
    if sys.platform == "win32":
        return None
    return {-signal.SIGALRM: "time", -signal.SIGKILL: "memory"}.get(code)
