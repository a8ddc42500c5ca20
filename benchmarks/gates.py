"""`python -m benchmarks.gates`: how often `olympus bench` is wrong on a machine that is busy.

A program is compared with itself, and a program in which one matrix product is made twice with the
one in which it is not, again and again, while other processes keep the processors busy. Out:
Markdown. Exit code 1 where the same program failed in more than one run of a hundred, or where a
doubled product was missed.
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
SECONDS = 1.0  # of calls, of each side in a run
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
class Found:
    """What became of the runs of one kind: exit codes, verdicts by metric, and seconds of each."""

    codes: Counter[int] = field(default_factory=Counter)
    words: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in METRICS}
    )
    ratios: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in METRICS})
    seconds: list[float] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for, print the table and return the exit code."""
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
        found = {
            kind: runs(folder, target, count, options.seconds)
            for kind, target, count in (
                ("the same program", "forward", same),
                ("one product doubled", "doubled", doubled),
            )
            if count
        }
    command = shlex.join(["python", "-m", "benchmarks.gates", *argv])
    print(markdown(found, command, options.busy, load), end="")
    return 0 if is_kept(found) else 1


def is_kept(found: Mapping[str, Found]) -> bool:
    """Whether no run broke, one of a hundred alike failed at most, and all doubled were caught."""
    same, doubled = (
        found.get(kind, Found()) for kind in ("the same program", "one product doubled")
    )
    ran = all(code in (0, 1) for each in found.values() for code in each.codes)
    few = same.codes[1] <= max(1, same.codes.total() // 100)
    return ran and few and not doubled.codes[0]


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    result = argparse.ArgumentParser("python -m benchmarks.gates", description=__doc__)
    add = result.add_argument
    add("--same", type=int, metavar="N", help=f"runs of the same program ({SAME})")
    add("--doubled", type=int, metavar="N", help=f"runs with a product doubled ({DOUBLED})")
    add("--busy", type=int, default=BUSY, metavar="N", help="processes beside them (%(default)s)")
    add("--seconds", type=float, default=SECONDS, help="of calls in a run (%(default)s)")
    add("--short", action="store_true", help=f"{SHORT} runs of each")
    return result


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but take time, as long as the context lasts."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for each in others:
            each.kill()
            each.wait()


def prepare(folder: Path) -> None:
    """Write a project with both programs, and build the one that is the baseline."""
    (folder / "program.py").write_text(PROGRAM.format(mlp=str(ROOT / "examples" / "mlp")))
    text = "".join(TARGET.format(name=name) for name in ("forward", "doubled"))
    (folder / "olympus.toml").write_text(text)
    subprocess.run(olympus("build", "forward"), cwd=folder, env=environment(), check=True)


def olympus(*arguments: str) -> list[str]:
    """The command of the interpreter that runs this."""
    return [sys.executable, "-m", "olympus_cli", *arguments]


def runs(folder: Path, target: str, count: int, seconds: float) -> Found:
    """Compare a target with the bundle of `forward`, so many times."""
    found = Found()
    command = olympus("bench", target, "--baseline", "build/forward/forward.olympus")
    command += ["--time-limit", str(seconds), "--json"]
    for number in range(1, count + 1):
        begin = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=environment(), capture_output=True, encoding="utf-8"
        )
        found.seconds.append(time.perf_counter() - begin)
        found.codes[done.returncode] += 1
        told = f"run {number} of {count}, {target}: exit code {done.returncode}"
        if done.returncode in (0, 1):
            (comparison,) = json.loads(done.stdout)["comparisons"]
            for name in METRICS:
                verdict = comparison["metrics"][name]["verdict"]
                found.words[name][verdict["word"]] += 1
                found.ratios[name].append(verdict["ratio"])
                told += f", {name} {verdict['word']} ({verdict['ratio']:.3f})"
        else:
            told += f"\n{done.stderr}"
        print(told, file=sys.stderr, flush=True)
    return found


def markdown(found: dict[str, Found], command: str, others: int, load: float) -> str:
    """A row for each kind of run and metric."""
    lines = [
        f"Measured by `{command}` beside {others} busy processes, on {os.cpu_count()} processors "
        f"with a load average of {load:.1f} at the beginning.",
        "",
        "| program | runs | exit 1 | metric | worse | better | no change | inconclusive "
        "| ratios | seconds a run |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for kind, each in found.items():
        seconds = sorted(each.seconds)[len(each.seconds) // 2]
        for name in METRICS:
            words = each.words[name]
            counts = [words[word] for word in ("worse", "better", "no change", "inconclusive")]
            ratios = sorted(each.ratios[name]) or [0.0]
            cells = [
                *(kind, len(each.seconds), each.codes[1], name, *counts),
                f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
                f"{seconds:.1f}",
            ]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
