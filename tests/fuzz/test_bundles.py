"""Damaged and forged bundles: they are refused, or give the right answer, and nothing else.

`pytest tests/fuzz/test_bundles.py -n0 --fuzz 100 -s` prints the figures of
docs/explanation/reliability.md.
"""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import olympus
from olympus import artifact, lax
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from tests.fuzz.bundle_mutations import MUTATIONS, executable
from tests.fuzz.conftest import Fuzz

ROOT = Path(__file__).parents[2]
SECONDS = 120  # that a case may take on a loaded machine: what takes more hangs
BYTES = (
    400 << 20
)  # that a case may add to the memory of a process; a first compilation needs 100 MB


def two(params: Any, x: Any) -> Any:
    return {"y": lax.tanh(lax.add(lax.mul(params["w"], x), params["b"])), "n": lax.neg(params["b"])}


def integers(x: Any, y: Any, *, z: Any) -> Any:
    return lax.add(x, y), [lax.mul(z, z), None]


def loop(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, y: lax.add(y, lax.sin(y)), x)


def split(s: Any, x: Any) -> Any:
    return {"s": lax.add(s, lax.dot(s, x)), "n": lax.neg(x)}


def struct(*shape: int, dtype: str = "float32") -> Any:
    return olympus.ShapeDtypeStruct(shape, dtype)


def sharded(*spec: Any) -> Any:
    mesh = AbstractMesh((2, 2), ("x", "y"))
    where = NamedSharding(mesh, PartitionSpec(*spec))
    return olympus.ShapeDtypeStruct((8, 8), "float32", sharding=where)


def programs() -> list[Any]:
    wide = {"w": struct(8, 16), "b": struct(8, 16)}
    whole = struct(3, 4, dtype="int32")
    return [
        olympus.jit(two, donate_argnums=1).trace(wide, struct(8, 16)),
        olympus.jit(integers).trace(whole, whole, z=struct(5, dtype="bfloat16")),
        olympus.jit(loop).trace(struct(6)),
        olympus.jit(split, donate_argnums=0).trace(sharded("x"), sharded(None, "y")),
    ]


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Bundles of a few small programs."""
    found = []
    for number, traced in enumerate(programs()):
        lowered = traced.lower()
        path = tmp_path_factory.mktemp("whole") / f"{number}.olympus"
        text = str(traced.olympuspr)
        stored = {"olympuspr_text": text, "name": f"p{number}", "entry": "m:f"}
        artifact.save(path, lowered.compile(), lowered=lowered, **stored)
        found.append(path)
    return found


class Worker:
    """A process that tries cases, started again when one has ended it."""

    def __init__(self, folder: Path, bundles: list[Path]) -> None:
        self.folder, self.bundles = folder, bundles
        self.expected: list[Any] = []
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("bundle_worker.py"))],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OLYMPUS_NUM_CPU_DEVICES": "8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self._process, self._lines), daemon=True).start()
        self.expected = [self._outcome_of_worker(path, None)["what"] for path in self.bundles]

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def _outcome_of_worker(self, path: Path, expected: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"path": str(path), "expected": expected}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._lines.get(timeout=SECONDS))
        return answer

    def outcome(self, path: Path, number: int) -> str:
        """Return the outcome of a mutation of the bundle `number`."""
        try:
            found = self._outcome_of_worker(path, self.expected[number])
        except queue.Empty:
            self.end()
            self._start()
            return HANGS
        except (ValueError, BrokenPipeError):
            self.end()
            code = self._process.returncode
            self._start()
            return ABORTS if code == -signal.SIGABRT else f"{ABORTS} by signal {-code}"
        if found["imported"]:
            return f"imports {', '.join(found['imported'])}"
        if found["grown"] > BYTES:
            self.end()
            self._start()
            return f"takes {found['grown'] >> 20} MiB"
        return str(found["what"])

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, bundles: list[Path]) -> Iterator[Worker]:
    worker = Worker(tmp_path_factory.mktemp("work"), bundles)
    yield worker
    worker.end()


#: The outcomes that are promised, for each class of mutations.  A changed program, whose digest
#: the manifest agrees to, is another program: its answer is its own, and LLVM's reader of bytecode,
#: which is native code, aborts over some; it may also fail to compile, or never end.
HANGS, ABORTS = f"hangs for {SECONDS} s", "ends the process"
PROMISED = {name: {"refused", "right"} for name in MUTATIONS}
PROMISED["program"] |= {"another answer", "CompileError", HANGS, ABORTS}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutated_bundle(
    fuzz: Fuzz,
    worker: Worker,
    tmp_path: Path,
    name: str,
) -> None:
    outcomes: Counter[str] = Counter()
    broken = []
    path = tmp_path / "mutated.olympus"
    for seed in fuzz.seeds(24):
        draw = random.Random(f"{name} {seed}")
        number = draw.randrange(len(worker.bundles))
        path.write_bytes(MUTATIONS[name](draw, worker.bundles[number].read_bytes()))
        what = worker.outcome(path, number)
        written = sorted(each.name for each in worker.folder.iterdir())
        if what not in PROMISED[name] or written:
            broken.append((seed, what, written))
        outcomes[what if what in PROMISED[name] else "broken"] += 1
    sys.stdout.write(f"{name}: {dict(outcomes)}\n")
    assert broken == []


@pytest.mark.parametrize("name", ["executable", "program"])
def test_the_command_line_outlives_native_code(
    fuzz: Fuzz, bundles: list[Path], tmp_path: Path, name: str
) -> None:
    """Native code and programs may fail in any way: `run` reports the failure in one line."""
    outcomes: Counter[int] = Counter()
    broken = []
    path = tmp_path / "mutated.olympus"
    mutate = {**MUTATIONS, "executable": executable}[name]
    for seed in fuzz.seeds(3):
        draw = random.Random(f"{name} {seed}")
        number = draw.randrange(len(bundles))
        path.write_bytes(mutate(draw, bundles[number].read_bytes()))
        done = subprocess.run(
            [sys.executable, "-m", "olympus_cli", "run", str(path), "--json"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        outcomes[done.returncode] += 1
        error_lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        if done.returncode not in (0, 5) or len(error_lines) != (done.returncode == 5):
            broken.append((seed, done.returncode, done.stderr[-300:]))
    sys.stdout.write(f"{name}, exit codes: {dict(outcomes)}\n")
    assert broken == []
