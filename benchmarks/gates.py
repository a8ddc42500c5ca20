"""`python -m benchmarks.gates`: the error rates of `olympus bench` on a busy machine.

Many runs compare a program with itself, and a program that computes one matrix product twice with
one that computes it once, while other processes use the processors. It prints Markdown. The exit
code is 1 if the same program failed in more than one run of a hundred, or if a run missed the
doubled product.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import environment
from benchmarks.programs import ROOT

SAME, DOUBLED = 100, 20
SHORT = 2
BUSY = 2
SECONDS = 1.0  # the time of calls of each side in a run
METRICS = ("steady-call", "steady-cpu")

PROGRAM = """\
import sys

sys.path.insert(0, {mlp!r})
import olympus as ox
from mlp import init


def forward(params, x):
    first, second, last = params
    x = ox.nn.relu(x @ first["w"] + first["b"])
    x = ox.nn.relu(x @ second["w"] + second["b"])
    return x @ last["w"] + last["b"]


def doubled(params, x):
    first, second, last = params
    x = ox.nn.relu(x @ first["w"] + first["b"])
    twice = x @ second["w"] + (x + 1) @ second["w"]
    x = ox.nn.relu(twice + second["b"])
    return x @ last["w"] + last["b"]
"""
TARGET = """\
[target.{name}]
entry = "program:{name}"
args.params = {{ from = "program:init" }}
args.x = "f32[64,784]"
"""


@dataclass
class Runs:
    """The runs of one kind: exit codes, verdicts and ratios by metric, and seconds."""

    codes: Counter[int] = field(default_factory=Counter)
    words: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in METRICS}
    )
    ratios: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in METRICS})
    seconds: list[float] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparisons, print the table and return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    options = parser().parse_args(argv)
    most = (SHORT, SHORT) if options.short else (SAME, DOUBLED)
    same, doubled = (
        usual if given is None else given
        for given, usual in zip((options.same, options.doubled), most, strict=True)
    )
    with TemporaryDirectory(prefix="olympus-gates-") as name, busy(options.busy):
        folder = Path(name)
        prepare(folder)
        load = os.getloadavg()[0]
        kinds = {
            kind: compare(folder, target, count, options.seconds)
            for kind, target, count in (
                ("the same program", "forward", same),
                ("one product doubled", "doubled", doubled),
            )
            if count
        }
    command = shlex.join(["python", "-m", "benchmarks.gates", *argv])
    print(markdown(kinds, command, options.busy, load), end="")
    return 0 if is_reliable(kinds) else 1


def is_reliable(kinds: Mapping[str, Runs]) -> bool:
    """Return True if all runs ended normally and the error rates are low.

    At most one of a hundred runs of the same program failed, and each run of the doubled product.
    """
    same, doubled = (
        kinds.get(kind, Runs()) for kind in ("the same program", "one product doubled")
    )
    ended = all(code in (0, 1) for runs in kinds.values() for code in runs.codes)
    few = same.codes[1] <= max(1, same.codes.total() // 100)
    return ended and few and not doubled.codes[0]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser("python -m benchmarks.gates", description=__doc__)
    add = result.add_argument
    add("--same", type=int, metavar="N", help=f"runs of the same program ({SAME})")
    add("--doubled", type=int, metavar="N", help=f"runs with a product doubled ({DOUBLED})")
    add("--busy", type=int, default=BUSY, metavar="N", help="other busy processes (%(default)s)")
    add("--seconds", type=float, default=SECONDS, help="time of calls in a run (%(default)s)")
    add("--short", action="store_true", help=f"{SHORT} runs of each")
    return result


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run `count` processes that use a processor each, while the context lasts."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in others:
            process.kill()
            process.wait()


def prepare(folder: Path) -> None:
    """Write a project with both programs, and build the baseline."""
    (folder / "program.py").write_text(PROGRAM.format(mlp=str(ROOT / "examples" / "mlp")))
    text = "".join(TARGET.format(name=name) for name in ("forward", "doubled"))
    (folder / "olympus.toml").write_text(text)
    subprocess.run(olympus("build", "forward"), cwd=folder, env=environment(), check=True)


def olympus(*arguments: str) -> list[str]:
    """Return the `olympus` command of this interpreter."""
    return [sys.executable, "-m", "olympus_cli", *arguments]


def compare(folder: Path, target: str, count: int, seconds: float) -> Runs:
    """Compare a target with the bundle of `forward`, `count` times."""
    runs = Runs()
    command = olympus("bench", target, "--baseline", "build/forward/forward.olympus")
    command += ["--time-limit", str(seconds), "--json"]
    for number in range(1, count + 1):
        begin = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=environment(), capture_output=True, encoding="utf-8"
        )
        runs.seconds.append(time.perf_counter() - begin)
        runs.codes[done.returncode] += 1
        message = f"run {number} of {count}, {target}: exit code {done.returncode}"
        if done.returncode in (0, 1):
            (comparison,) = json.loads(done.stdout)["comparisons"]
            for name in METRICS:
                verdict = comparison["metrics"][name]["verdict"]
                runs.words[name][verdict["word"]] += 1
                runs.ratios[name].append(verdict["ratio"])
                message += f", {name} {verdict['word']} ({verdict['ratio']:.3f})"
        else:
            message += f"\n{done.stderr}"
        print(message, file=sys.stderr, flush=True)
    return runs


def markdown(kinds: dict[str, Runs], command: str, others: int, load: float) -> str:
    """Return a table with a row for each kind of run and metric."""
    lines = [
        f"Measured by `{command}` beside {others} busy processes, on {os.cpu_count()} processors "
        f"with a load average of {load:.1f} at the beginning.",
        "",
        "| program | runs | exit 1 | metric | worse | better | no change | inconclusive "
        "| ratios | seconds a run |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for kind, runs in kinds.items():
        seconds = sorted(runs.seconds)[len(runs.seconds) // 2]
        for name in METRICS:
            words = runs.words[name]
            counts = [words[word] for word in ("worse", "better", "no change", "inconclusive")]
            ratios = sorted(runs.ratios[name]) or [0.0]
            cells = [
                *(kind, len(runs.seconds), runs.codes[1], name, *counts),
                f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
                f"{seconds:.1f}",
            ]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
