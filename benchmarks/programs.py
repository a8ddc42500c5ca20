"""The measured programs: a function to trace and its arguments, for a framework.

A program is a file in examples/. Only its import line is rewritten, so both frameworks run the same
lines. To add a program, add an item to PROGRAMS.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
IMPORT_LINE = "import olympus as ox\n"

Function = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A function of an example, the shapes that it is traced for and its statics.

    `function` is its name, or returns it for the module of the source. `init` is the name of the
    function that returns the parameters, or returns them for the module. `inputs` has the shape and
    the dtype of each argument after the parameters; in a run, integers are below `most`. `wrap`
    returns the traced function for the framework and the function of the example.
    """

    title: str
    source: str
    function: str | Callable[[ModuleType], Function]
    init: str | Callable[[ModuleType], Any]
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    statics: Mapping[str, Any] = field(default_factory=dict)
    wrap: Callable[[Any, Function], Function] = lambda ox, function: function
    most: int = 256

    def function_of(self, module: ModuleType) -> Function:
        """Return the function that `wrap` takes."""
        if isinstance(self.function, str):
            return getattr(module, self.function)  # type: ignore[no-any-return]
        return self.function(module)

    def params_of(self, module: ModuleType) -> Any:
        """Return the initial parameters of a run."""
        return getattr(module, self.init)() if isinstance(self.init, str) else self.init(module)


def sgd_step(ox: Any, forward: Function) -> Function:
    """Return a training step of a language model, which returns the loss and new parameters."""

    def loss(params: Any, tokens: Any, **statics: Any) -> Any:
        scores = ox.nn.log_softmax(forward(params, tokens[:, :-1], **statics))
        return -ox.numpy.mean(ox.numpy.take_along_axis(scores, tokens[:, 1:, None], axis=-1))

    def step(params: Any, tokens: Any, **statics: Any) -> Any:
        value, grads = ox.value_and_grad(loss)(params, tokens, **statics)
        return value, ox.tree.map(lambda p, g: p - 1e-3 * g, params, grads)

    return step


PROGRAMS: dict[str, Program] = {
    "forward": Program(
        "GPT-2 forward, 12 layers",
        "gpt/gpt.py", "forward", "small", (((1, 256), "int32"),), {"n_head": 12},
    ),
    "mlp": Program("MLP forward", "mlp/mlp.py", "forward", "init", (((64, 784), "float32"),)),
    "lstm": Program("LSTM over 50 steps", "lstm/lstm.py", "forward", "init",
                    (((8, 50, 16), "float32"),)),
    "gpt_train": Program(
        "GPT-2 training step, 12 layers", "gpt/gpt.py", "forward", "small",
        (((1, 257), "int32"),), {"n_head": 12}, wrap=sgd_step,
    ),
}  # fmt: skip

# The programs that are compiled and run.
RUNS: dict[str, Program] = {
    "run": Program(
        "GPT-2 training step, 2 layers of width 64", "gpt/gpt.py", "forward", "tiny",
        (((16, 65), "int32"),), {"n_head": 4}, wrap=sgd_step,
    ),
    "run_gpt": PROGRAMS["gpt_train"],
}  # fmt: skip


def load_source(path: Path, framework: str) -> ModuleType:
    """Import the program at `path`, with the framework instead of `import olympus as ox`.

    Raises ValueError unless the file has exactly one such line. Line numbers and the file name do
    not change.
    """
    text = path.read_text(encoding="utf-8")
    if text.count(IMPORT_LINE) != 1:
        raise ValueError(f"{path} must have the line {IMPORT_LINE.strip()!r} once")
    text = text.replace(IMPORT_LINE, f"import {framework} as ox\n")
    module = ModuleType(f"{path.stem}_under_{framework}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def load(program: Program, framework: str) -> tuple[Function, tuple[Any, ...]]:
    """Return a function that returns a new function object, and the ShapeDtypeStructs to trace it.

    The frameworks' tracing caches do not apply to a new function object.
    """
    ox = importlib.import_module(framework)
    module = load_source(EXAMPLES / program.source, framework)
    function = program.wrap(ox, program.function_of(module))
    params = ox.eval_shape(lambda: program.params_of(module))
    inputs = [ox.ShapeDtypeStruct(shape, dtype) for shape, dtype in program.inputs]

    def fresh() -> Function:
        return lambda *args: function(*args, **program.statics)

    return fresh, (params, *inputs)


def values(program: Program, framework: str) -> tuple[Any, ...]:
    """Return the arguments of a run: the parameters of `init`, and random inputs from a seed."""
    rng = np.random.default_rng(0)
    params = program.params_of(load_source(EXAMPLES / program.source, framework))
    return params, *(
        (rng.integers(program.most, size=shape) if dtype == "int32" else rng.normal(size=shape))
        .astype(dtype) for shape, dtype in program.inputs
    )  # fmt: skip
