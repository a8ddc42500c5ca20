"""`olympus build` beside bare XLA. In: a size. Out: what to run for either of the two.

Bare XLA is a process that imports jaxlib, reads the StableHLO that a build has lowered, and
compiles it with the same options. What a build takes beyond it is all that OLYMPUS does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.programs import EXAMPLES

PROJECT = """\
[target.step]
entry = "{source}:train_step"
args.state = {{ from = "{source}:init", with = {{ n_layer = {layers}, d_model = {width} }} }}
args.tokens = "i32[2,65]"
static.n_head = {heads}
donate = ["state"]
"""

MODULE = "build/step/program.stablehlo.mlir"
# what a build adds to the serialized options of a program with repeated blocks
COPY_LATE = b"\x1a\x23\x1a\x21\xa2\x1f\x1e\x0a\x1cxla_cpu_flatten_after_fusion"
BARE = "import sys; from benchmarks.building import compile_bare; compile_bare(sys.argv[1])"


def build_tasks(short: bool) -> list[str]:
    """Layers and width of the training step that is built."""
    return ["build/1/16"] if short else ["build/12/256"]


def build_title(task: str) -> str:
    """What is built, and what of it is measured."""
    _, layers, width = task.split("/")
    return f"GPT training step, {layers} layers of width {width}: whole process"


def build_command(task: str, python: str, folder: Path) -> list[str]:
    """The build, in a project of its own within `folder`, where nothing is built."""
    _, layers, width = task.split("/")
    project = Path(mkdtemp(dir=folder))
    text = PROJECT.format(
        source=EXAMPLES / "train_gpt/train_gpt.py",
        layers=layers, width=width, heads=max(1, int(width) // 64),
    )  # fmt: skip
    (project / "olympus.toml").write_text(text, encoding="utf-8")
    return [python, "-m", "olympus_cli", "build", "--project", str(project)]


def bare_command(
    task: str, python: str, folder: Path, run: Callable[[list[str]], str]
) -> list[str]:
    """The compilation of the module that a build left; `run` makes one where there is none yet."""
    found = next(folder.glob(f"*/{MODULE}"), None)
    if found is None:
        command = build_command(task, python, folder)
        run(command)
        found = Path(command[-1]) / MODULE
    return [python, "-c", BARE, str(found)]


def compile_bare(path: str) -> None:
    """Compile the StableHLO at `path` for the processor by jaxlib alone, as a build does."""
    import numpy as np
    from jaxlib import _jax

    client = _jax.get_tfrt_cpu_client(asynchronous=True)
    devices = client.local_devices()[:1]
    options = _jax.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = _jax.DeviceAssignment.create(np.array([[devices[0].id]]))
    options.env_option_overrides = [("xla_cpu_parallel_codegen_split_count", 1)]
    program = Path(path).read_bytes()
    if b"inlineable" in program:
        _ = options.executable_build_options.debug_options  # which sets those of XLA_FLAGS
        serialized = options.SerializeAsString() + COPY_LATE
        options = _jax.CompileOptions.ParseFromString(serialized)
    client.compile_and_load(program, _jax.DeviceList(tuple(devices)), options)
