"""The import times of `olympus`, and of a user's module after it, in a fresh interpreter."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import time

from olympus_cli.process import own_process
from olympus_cli.spec.model import TargetSpec

_TIMES = 3
_PATIENCE = 60.0  # seconds, the limit of one import

# The module's prints are not an answer: ours uses a separate descriptor.
_CODE = """\
import sys, time
sys.path[:] = {path!r}
begin = time.perf_counter()
import olympus
between = time.perf_counter() - begin
import pickle
from olympus_cli.bench.measure.imports import _answer
_answer({answers}, between)
"""


def import_seconds(spec: TargetSpec | None, time_limit: float) -> dict[str, tuple[float, ...]]:
    """Return the seconds of "import", of `olympus`, and "import-program", of a target's module.

    Each is measured at least once, and again if that ends within `time_limit` seconds. The dict is
    empty if the import fails without a terminal, or takes more than a minute.
    """
    measured: list[tuple[float, float | None]] = []
    until = begin = time.perf_counter()
    until += time_limit
    while len(measured) < _TIMES:
        seconds, now = _once(spec), time.perf_counter()
        if seconds is None:
            break
        measured.append(seconds)
        if now + (now - begin) > until:
            break
        begin = now
    ours = tuple(own for own, _ in measured)
    theirs = tuple(program for _, program in measured if program is not None)
    named = {"import": ours, "import-program": theirs}
    return {name: seconds for name, seconds in named.items() if seconds}


def _once(spec: TargetSpec | None) -> tuple[float, float | None] | None:
    read, write = os.pipe()
    code = _CODE.format(path=own_process.safe_path(sys.path), answers=write)
    os.set_blocking(read, False)  # processes that the module started may keep the other end open
    with os.fdopen(read, "rb") as answers:
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(write,),
            )
        finally:
            os.close(write)
        try:
            process.communicate(pickle.dumps(spec), _PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None
        words = (answers.read(1 << 10) or b"").split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return None
    is_answer = numbers and all(math.isfinite(n) and n >= 0 for n in numbers)
    if process.returncode != 0 or not is_answer:
        return None
    return numbers[0], numbers[1] if len(numbers) > 1 else None


def _answer(answers: int, ours: float) -> None:
    """Import the module of the target on stdin and answer, in the fresh interpreter."""
    from olympus_cli.frontends.importing import load_entry
    from olympus_cli.frontends.relocating import relocate

    spec = pickle.load(sys.stdin.buffer)
    answer = f"{ours!r}"
    if spec is not None:
        if spec.checkout is not None:
            relocate(spec.checkout)
        begin = time.perf_counter()
        load_entry(spec.entry, spec.root, spec.python_path, spec.checkout)
        answer += f" {time.perf_counter() - begin!r}"
    os.write(answers, answer.encode())
