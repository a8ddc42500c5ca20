"""`python -m benchmarks.freshness`: the processor time of a build with nothing to do.

A project has 200 small targets, each with files of its own. It is built, built again without a
change, and built after a changed comment in a file that all targets import. The time is that of
the command and all its processes. Bare XLA is one process that compiles the same modules with
jaxlib alone: a first build cannot take less. `python -c "import click"` runs beside each build
without a change: it is the least that a command line in Python takes. It prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.building import MODULE, bare_options
from benchmarks.measure import environment

TARGETS, FILES, ROUNDS = 200, 20, 9
SHORT = (4, 2, 2)

SHARED = "import olympus.numpy as np\n\n\ndef activated(x):\n    return np.tanh(x)\n"
MODEL = """\
from pathlib import Path

from shared import activated

PARTS = [float(Path(f"{{__file__}}.{{n}}").read_text()) for n in range({files})]


def forward(x):
    for part in PARTS[:2]:
        x = activated(x * part + {number})
    return x
"""
BARE = "import sys; from benchmarks.freshness import compile_all; compile_all(sys.argv[1])"
TARGET = '[target.model{number}]\nentry = "model{number}:forward"\nargs = ["f32[{size}]"]\n\n'


class Times(NamedTuple):
    """Processor times in seconds: `bare` of XLA alone, `same` of builds without a change.

    `click` are the times of `import click`.
    """

    cold: float
    bare: float
    same: list[float]
    click: list[float]
    comment: float

    @property
    def ratio(self) -> float:
        """The median time of a build without a change, in that of the import."""
        return statistics.median(self.same) / statistics.median(self.click)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the builds and print the table; the exit code is 0."""
    argv = sys.argv[1:] if argv is None else argv
    options = parser().parse_args(argv)
    targets, files, rounds = SHORT if options.short else (TARGETS, FILES, ROUNDS)
    times = measured(targets, files, rounds)
    command = shlex.join(["python", "-m", "benchmarks.freshness", *argv])
    print(
        f"Measured by `{command}`, on {os.cpu_count()} processors: {targets} targets, each with "
        f"{files} files of its own.\n\n"
        "| build | processor time |\n| --- | --- |\n"
        f"| first, without stored results | {times.cold:.2f} s |\n"
        f"| bare XLA, for the same modules in one process | {times.bare:.2f} s |\n"
        f"| without a change | {shown(times.same)} |\n"
        f"| `import click`, beside it | {shown(times.click)}, so {times.ratio:.2f} times |\n"
        f"| a comment changed in a file that all import | {times.comment:.2f} s |\n",
        end="",
    )
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser("python -m benchmarks.freshness", description=__doc__)
    result.add_argument("--short", action="store_true", help=f"{SHORT[0]} targets")
    return result


def measured(targets: int, files: int, rounds: int) -> Times:
    """Return the times of the builds of a project in a temporary folder."""
    with TemporaryDirectory(prefix="olympus-freshness-") as name:
        folder = Path(name)
        prepare(folder, targets, files)
        cold = cpu_time(build(), folder)
        bare = cpu_time([sys.executable, "-c", BARE, str(folder / "build")], folder)
        same, click = [], []
        for _ in range(rounds):
            same.append(cpu_time(build(), folder))
            click.append(cpu_time([sys.executable, "-c", "import click"], folder))
        (folder / "shared.py").write_text(f"# a comment\n{SHARED}")
        return Times(cold, bare, same, click, cpu_time(build(), folder))


def prepare(folder: Path, targets: int, files: int) -> None:
    """Write the project."""
    (folder / "shared.py").write_text(SHARED)
    tables = []
    for number in range(targets):
        path = folder / f"model{number}.py"
        path.write_text(MODEL.format(files=files, number=number))
        for part in range(files):
            path.with_name(f"{path.name}.{part}").write_text(f"{part + 1}\n")
        tables.append(TARGET.format(number=number, size=number + 1))
    (folder / "olympus.toml").write_text("".join(tables))


def build() -> list[str]:
    """Return the command that builds all targets."""
    return [sys.executable, "-m", "olympus_cli", "build", "--no-cache"]


def compile_all(folder: str) -> None:
    """Compile and serialize the programs of the targets built in `folder` by jaxlib alone."""
    from jaxlib import _jax

    client = _jax.get_tfrt_cpu_client(asynchronous=True)
    device = client.local_devices()[0]
    for path in sorted(Path(folder).glob(f"*/{Path(MODULE).name}")):
        program = path.read_bytes()
        options = bare_options(program, device)
        client.compile_and_load(program, _jax.DeviceList((device,)), options).serialize()


def cpu_time(command: list[str], folder: Path) -> float:
    """Return the processor time of a command and its processes, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment(), check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def shown(seconds: Sequence[float]) -> str:
    """Return the median with the range."""
    low, high = min(seconds), max(seconds)
    return f"{statistics.median(seconds):.3f} s ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    sys.exit(main())
