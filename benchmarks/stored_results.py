"""`python -m benchmarks.stored_results`: builds with the store of results, and JAX's cache.

Both sides compile the training step of a GPT from the same source, of which only the import line
differs, in a process of its own each time. JAX traces, lowers and compiles it with a compilation
cache; `olympus build` also counts the cost and writes the outputs. Exit code 1 if a process failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import environment
from benchmarks.programs import EXAMPLES, IMPORT_LINE
from olympus_cli.bench.statistics import summarize

#: The steps of a round, in their order.
STEPS = {
    "first": "first build, empty store",
    "second": "second process, no outputs",
    "comment": "changed comment",
    "branch": "back from another branch",
}
SIZES = ((2, 64), (12, 256))  # layers, width
SOURCE = EXAMPLES / "train_gpt" / "train_gpt.py"
CHANGE = "rate=3e-3", "rate=2e-3"  # of the other branch

TOML = """\
[target.step]
entry = "train_gpt:train_step"
args.state = {{ from = "train_gpt:init", with = {{ n_layer = {layers}, d_model = {width} }} }}
args.tokens = "i32[2,65]"
static.n_head = {heads}
donate = ["state"]
"""
JAX = """\
import functools, jax, sys
jax.config.update("jax_compilation_cache_dir", "cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
import train_gpt
layers, width, heads = map(int, sys.argv[1:])
state = jax.eval_shape(functools.partial(train_gpt.init, n_layer=layers, d_model=width))
tokens = jax.ShapeDtypeStruct((2, 65), "int32")
step = functools.partial(train_gpt.train_step, n_head=heads)
jax.jit(step, donate_argnums=0).lower(state, tokens).compile()
"""


class Checkout:
    """A folder with the program for one framework, its outputs and its store."""

    def __init__(self, folder: Path, framework: str, layers: int, width: int) -> None:
        self.folder = folder / framework
        self.folder.mkdir()
        self._sizes = layers, width, max(1, width // 64)
        self._is_jax = framework == "jax"
        text = SOURCE.read_text(encoding="utf-8")
        assert IMPORT_LINE in text and CHANGE[0] in text
        self.text = text.replace(IMPORT_LINE, f"import {framework} as ox\n")
        toml = TOML.format(layers=layers, width=width, heads=self._sizes[2])
        (self.folder / "olympus.toml").write_text(toml, encoding="utf-8")

    def build(self, text: str) -> float:
        """Compile the program in a new process; return the seconds of the whole process."""
        (self.folder / "train_gpt.py").write_text(text, encoding="utf-8")
        sizes = map(str, self._sizes)
        command = [sys.executable, "-m", "olympus_cli", "build"]
        if self._is_jax:
            command = [sys.executable, "-c", JAX, *sizes]
        variables = {**environment(), "OLYMPUS_CACHE_DIR": str(self.folder / "store")}
        path = os.pathsep.join([str(self.folder), variables["PYTHONPATH"]])
        variables["PYTHONPATH"] = path
        start = time.perf_counter()
        subprocess.run(
            command, cwd=self.folder, env=variables, check=True, stdout=subprocess.DEVNULL
        )
        return time.perf_counter() - start

    def round(self) -> dict[str, float]:
        """Return the seconds of each step."""
        seconds = {"first": self.build(self.text)}
        shutil.rmtree(self.folder / "build", ignore_errors=True)
        seconds["second"] = self.build(self.text)
        commented = f"# a comment\n{self.text}"
        seconds["comment"] = self.build(commented)
        self.build(commented.replace(*CHANGE))
        seconds["branch"] = self.build(commented)
        return seconds


def measure(layers: int, width: int, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return the pairs of seconds, of OLYMPUS and of JAX, for each step."""
    pairs: dict[str, list[tuple[float, float]]] = {step: [] for step in STEPS}
    for number in range(rounds):
        with TemporaryDirectory() as folder:
            order = ("olympus", "jax") if number % 2 == 0 else ("jax", "olympus")
            found = {side: Checkout(Path(folder), side, layers, width).round() for side in order}
        for step in STEPS:
            pairs[step].append((found["olympus"][step], found["jax"][step]))
    return pairs


def rows(layers: int, width: int, pairs: dict[str, list[tuple[float, float]]]) -> list[str]:
    """Return a row of Markdown for each step: medians, and the ratio with its quartiles."""
    lines = []
    for step, title in STEPS.items():
        ours, others = (summarize(list(side)).median for side in zip(*pairs[step], strict=True))
        ratio = summarize([ours / other for ours, other in pairs[step]])
        program = f"GPT training step, {layers} layers of width {width}: {title}"
        lines.append(
            f"| {program} | {ours:.2f} s | {others:.2f} s "
            f"| {ratio.median:.2f} ({ratio.q1:.2f} to {ratio.q3:.2f}) |"
        )
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the programs, print a table and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stored_results")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds of each program")
    parser.add_argument("--short", action="store_true", help="one round of the smallest program")
    options = parser.parse_args(argv)
    sizes = SIZES[:1] if options.short else SIZES
    print("| step | olympus | jax | ratio |\n| --- | ---: | ---: | ---: |")
    try:
        for layers, width in sizes:
            pairs = measure(layers, width, 1 if options.short else options.repeat)
            print("\n".join(rows(layers, width, pairs)), flush=True)
    except subprocess.CalledProcessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
