"""`olympus build` compared with bare XLA: the commands of both sides, and their samples.

Bare XLA is a process that imports jaxlib, reads the StableHLO of a build, compiles it with the same
options, and serializes the executable, which an ahead-of-time build needs. The difference is the
work of OLYMPUS.  Another such process also requests the outputs that a build takes from XLA: the
optimized program as text and as bytes, and figures.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from benchmarks.programs import EXAMPLES

Spawn = Callable[[list[str]], str]  # runs a command and returns its stdout

GPT = """\
[target.step]
entry = "{examples}/train_gpt/train_gpt.py:train_step"
args.state = {{ from = "{examples}/train_gpt/train_gpt.py:init", with = {{ {sizes} }} }}
args.tokens = "i32[2,65]"
static.n_head = {heads}
donate = ["state"]
"""
MLP = """\
[target.step]
entry = "{examples}/mlp/mlp.py:forward"
args.params = {{ from = "{examples}/mlp/mlp.py:init" }}
args.x = "f32[1,784]"
"""


@dataclass(frozen=True)
class Built:
    """A program to build: its title, and the olympus.toml with its target, "step"."""

    title: str
    project: str


def gpt(layers: int, width: int, repeats: str = "auto") -> Built:
    """Return a training step; with `repeats` "off" its layers are compiled one by one."""
    sizes = f"n_layer = {layers}, d_model = {width}"
    heads = max(1, width // 64)
    text = GPT.format(examples=EXAMPLES, sizes=sizes, heads=heads)
    off = ", repeats off" if repeats == "off" else ""
    return Built(
        f"GPT training step, {layers} layers of width {width}{off}",
        f'{text}repeats = "{repeats}"\n',
    )


BUILT = {
    "build/mlp": Built("MLP forward", MLP.format(examples=EXAMPLES)),
    "build/gpt/2": gpt(2, 64),
    "build/gpt/12": gpt(12, 256),
    "build/gpt/12/off": gpt(12, 256, "off"),
}
# measure -> its label
BUILD_MEASURES = {
    "wall": "whole process",
    "cpu": "whole process, processor time",
    "after": "from StableHLO to an executable as bytes, with all figures and files",
    "bare": "the same, without serializing the executable",
    "outputs": "the same, with the text, bytes and figures of bare XLA",
    "xla": "XLA's compiler alone",
}
AFTER = ("compile", "inspect", "serialize", "write")  # the parts of a build beyond lowering

MODULE = "build/step/program.stablehlo.mlir"
REPORT = "build/step/report.json"
# bytes that a build appends to the serialized options of a program with repeated blocks
COPY_LATE = b"\x1a\x23\x1a\x21\xa2\x1f\x1e\x0a\x1cxla_cpu_flatten_after_fusion"
BARE = "import sys; from benchmarks.building import compile_bare; compile_bare(*sys.argv[1:])"
OUTPUTS = "outputs"  # an argument of it


def build_tasks(short: bool) -> list[str]:
    """Return the tasks of the group `build`."""
    return ["build/mlp"] if short else [*BUILT]


def build_title(task: str, measure: str) -> str:
    """Return the label of a measure of a program."""
    return f"{BUILT[task].title}: {BUILD_MEASURES[measure]}"


def build_command(task: str, python: str, folder: Path) -> list[str]:
    """Return the command of a build in a new project within `folder`."""
    project = Path(mkdtemp(dir=folder, prefix=task.replace("/", "-")))
    (project / "olympus.toml").write_text(BUILT[task].project, encoding="utf-8")
    return [python, "-m", "olympus_cli", "build", "--project", str(project)]


def bare_command(task: str, python: str, folder: Path, run: Spawn) -> list[str]:
    """Return the command that compiles the module of a build; `run` builds one if none exists."""
    module = next(folder.glob(f"{task.replace('/', '-')}????????/{MODULE}"), None)
    if module is None:
        command = build_command(task, python, folder)
        run(command)
        module = Path(command[-1]) / MODULE
    return [python, "-c", BARE, str(module)]


def build_outcome(command: list[str], run: Spawn) -> dict[str, Any]:
    """Run a build and return its samples and versions."""
    _, samples = timed(command, run)
    report = json.loads((Path(command[-1]) / REPORT).read_text(encoding="utf-8"))
    seconds = report["seconds"]
    after = sum(seconds[part] for part in AFTER)
    samples |= {
        "after": [after],
        "bare": [after - seconds["serialize"]],
        "outputs": [after],
        "xla": [report["backends"][0]["xla_seconds"]],
    }
    return {"samples": samples, "versions": report["versions"]}


def bare_outcome(command: list[str], run: Spawn) -> dict[str, Any]:
    """Run bare XLA and return its samples, by the same names."""
    printed, samples = timed(command, run)
    seconds = json.loads(printed)
    samples["after"] = [sum(seconds.values())]
    samples["bare"] = [seconds["client"] + seconds["compile"]]
    samples["xla"] = [seconds["compile"]]
    samples["outputs"] = [sum(json.loads(run([*command, OUTPUTS])).values())]
    return {"samples": samples, "versions": {}}


def timed(command: list[str], run: Spawn) -> tuple[str, dict[str, list[float]]]:
    """Return the stdout of a command, its time, and the processor time of all its processes."""
    import resource  # not on all systems

    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = run(command)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return printed, {"wall": [wall], "cpu": [cpu]}


def compile_bare(path: str, outputs: str = "") -> None:
    """Compile the StableHLO at `path` for the CPU by jaxlib alone, as a build does.

    Print the seconds to start the runtime, to compile the program and to serialize the executable,
    as JSON; with `outputs` also those of the other outputs that a build takes from XLA.
    """
    import os

    from jaxlib import _jax

    os.setsid()  # as the worker of a build: on a busy Linux each session has its own share
    begin = time.perf_counter()
    client = _jax.get_tfrt_cpu_client(asynchronous=True)
    started = time.perf_counter() - begin
    devices = client.local_devices()[:1]
    program = Path(path).read_bytes()
    options = bare_options(program, devices[0])
    start = time.perf_counter()
    executable = client.compile_and_load(program, _jax.DeviceList(tuple(devices)), options)
    between = time.perf_counter()
    Path(path).with_name("bare.bin").write_bytes(bytes(executable.serialize()))
    end = time.perf_counter()
    seconds = {"client": started, "compile": between - start, "serialize": end - between}
    print(json.dumps(seconds | (_output_seconds(executable) if outputs else {})))


def bare_options(program: bytes, device: Any) -> Any:
    """Return the compiler's options with which a build compiles a StableHLO module for `device`."""
    import numpy as np
    from jaxlib import _jax

    options = _jax.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = _jax.DeviceAssignment.create(np.array([[device.id]]))
    options.env_option_overrides = [("xla_cpu_parallel_codegen_split_count", 1)]
    if b"inlineable" not in program:
        return options
    _ = options.executable_build_options.debug_options  # sets the options of XLA_FLAGS
    return _jax.CompileOptions.ParseFromString(options.SerializeAsString() + COPY_LATE)


def _output_seconds(executable: Any) -> dict[str, float]:
    """Return the seconds that XLA takes for each output that a report uses."""
    from jaxlib import _hlo

    (module,) = executable.hlo_modules()
    options = _hlo.HloPrintOptions()
    options.print_metadata = True
    outputs: dict[str, Callable[[], object]] = {
        "text": lambda: module.to_string(options),
        "bytes": module.as_serialized_hlo_module_proto,
        "memory": executable.get_compiled_memory_stats,
        "cost": executable.cost_analysis,
    }
    seconds = {}
    for name, output in outputs.items():
        start = time.perf_counter()
        output()
        seconds[name] = time.perf_counter() - start
    return seconds
