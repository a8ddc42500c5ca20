"""`olympus init`: write a commented olympus.toml and an example program, from a template."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from olympus.artifact import write_whole
from olympus.errors import UsageError
from olympus_cli.options.shared import Command, common_options
from olympus_cli.spec.json_schema import SCHEMA_FILE, schema_text
from olympus_cli.terminal import console
from olympus_cli.terminal.output import check_writable

_INIT = '''\
def init(sizes=(784, 256, 10), seed=0):
    """Return weights and biases of each layer; `olympus build` uses only their shapes."""
    params = []
    key = ox.random.key(seed)
    for inputs, outputs in zip(sizes, sizes[1:]):
        key, sub = ox.random.split(key)
        weights = ox.random.normal(sub, (inputs, outputs)) / np.sqrt(inputs)
        params.append({"w": weights, "b": np.zeros(outputs)})
    return params
'''

_MODEL = (
    '''\
"""A two-layer perceptron: its parameters, its forward pass and its predictions."""

import olympus as ox
import olympus.numpy as np


'''
    + _INIT
    + '''

def forward(params, x):
    """Return logits [batch, 10] for images [batch, 784]."""
    *hidden, last = params
    for layer in hidden:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def predict(params, x, top=False):
    """Return probabilities, or the most probable class if the static `top` is true."""
    logits = forward(params, x)
    return np.argmax(logits, axis=-1) if top else ox.nn.softmax(logits)
'''
)

#: The first line of an olympus.toml, which names its schema for editors.
_SCHEMA_LINE = f"#:schema {SCHEMA_FILE}\n"

_TOML = """\
# The programs that `olympus build` builds.  `olympus trace predict@batch=1` and
# `olympus lower predict@batch=1` print one; `olympus run predict@batch=1` runs it on random inputs.

[project]
# build-dir = "build"              # the folder of the outputs, relative to this file
# default-targets = ["predict"]    # the targets of `olympus build` without names

[target.predict]
entry = "model:predict"            # module:function, or path/file.py:function
backends = ["cpu"]                 # also "gpu:h200"; `olympus doctor` shows how to install it

# Shapes of the arguments, by name.  A pytree is a table or an array of shapes, or the shapes of the
# result of a function, as here.  The function is traced, and no memory is allocated.
[target.predict.args]
params = { from = "model:init" }
x = "f32[{batch},784]"

# Arguments whose values are part of the program.
[target.predict.static]
top = false

# One program for each combination: predict@batch=1 and predict@batch=32.
[target.predict.matrix]
batch = [1, 32]

# Limits for every program, which `olympus check` enforces.
[budget]
flops = "20 MFLOP"
forbid = ["f64", "host-callback"]
"""


_MINIMAL = '''\
"""One function: a linear layer with tanh."""

import olympus.numpy as np


def forward(w, x):
    """Return tanh(x @ w) for x [batch, 64] and w [64, 16]."""
    return np.tanh(x @ w)
'''

_MINIMAL_TOML = """\
[target.forward]
entry = "model:forward"            # module:function, or path/file.py:function
args = { w = "f32[64,16]", x = "f32[8,64]" }

[target.forward.budget]            # limits, which `olympus check` enforces
flops = "20 kFLOP"
"""

_TRAINING = (
    '''\
"""A two-layer classifier, and one step of gradient descent."""

import olympus as ox
import olympus.numpy as np


'''
    + _INIT
    + '''

def loss(params, x, labels):
    """Return the mean cross-entropy of images [batch, 784] with labels [batch]."""
    *hidden, last = params
    for layer in hidden:
        x = np.tanh(x @ layer["w"] + layer["b"])
    logits = ox.nn.log_softmax(x @ last["w"] + last["b"])
    return -np.mean(logits[np.arange(labels.shape[0]), labels])


def step(params, x, labels, rate=0.1):
    """Return the parameters after one step, and the loss before it."""
    value, gradients = ox.value_and_grad(loss)(params, x, labels)
    return ox.tree.map(lambda p, g: p - rate * g, params, gradients), value
'''
)

_TRAINING_TOML = """\
[target.step]
entry = "model:step"
donate = ["params"]                # the new parameters take the memory of the old ones

# Shapes of the arguments, by name.  Those of `params` are the shapes of the result of `init`.
[target.step.args]
params = { from = "model:init" }
x = "f32[32,784]"
labels = "i32[32]"

# Arguments whose values are part of the program.
[target.step.static]
rate = 0.1

# The inputs of `olympus run`, `bench` and `verify`.  For `params`, they run `init`.
[target.step.inputs]
params = { from = "model:init" }
x = { range = [0, 1] }
labels = { range = [0, 10] }

# Limits, which `olympus check` enforces.
[target.step.budget]
flops = "100 MFLOP"
forbid = ["f64", "host-callback"]
"""

_WORKFLOW = """\
# Builds the programs of olympus.toml, checks their budgets and verifies their numbers.
name: olympus

on:
  pull_request:
  push:
    branches: [main]

permissions:
  contents: read

jobs:
  gates:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - run: python -m pip install -r requirements.txt
      - run: olympus build --output github
      - run: olympus check --output github
      - run: olympus verify --output github
"""

_REQUIREMENTS = """\
olympus
"""

_IGNORED = """\
build/
__pycache__/
"""

_MLP = {"model.py": _MODEL, "olympus.toml": _SCHEMA_LINE + _TOML, ".gitignore": _IGNORED}

#: The files of each template: their paths and texts. Each project also gets the schema.
TEMPLATES = {
    "minimal": {
        "model.py": _MINIMAL,
        "olympus.toml": _SCHEMA_LINE + _MINIMAL_TOML,
        ".gitignore": _IGNORED,
    },
    "mlp": _MLP,
    "training": {
        "model.py": _TRAINING,
        "olympus.toml": _SCHEMA_LINE + _TRAINING_TOML,
        ".gitignore": _IGNORED,
    },
    "ci": {**_MLP, "requirements.txt": _REQUIREMENTS, ".github/workflows/olympus.yml": _WORKFLOW},
}

#: The template of `olympus init` without an option.
DEFAULT = "mlp"

#: The files that stay as they are if they exist, also by --force.
PRESERVED = (".gitignore", "requirements.txt")


@click.command("init", cls=Command)
@click.argument("folder", metavar="[DIR]", default=".")
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    default=DEFAULT,
    show_default=True,
    help="Write one function (minimal), an MLP (mlp), a training step (training), or an MLP with a "
    "workflow for GitHub Actions (ci).",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@common_options
def command(folder: str, template: str, force: bool, as_json: bool) -> None:
    """An existing .gitignore or requirements.txt is not overwritten, not even with --force.

    \b
    Examples:
      olympus init
      olympus init first --template training
    """
    files = {**TEMPLATES[template], SCHEMA_FILE: schema_text()}
    paths = {name: Path(folder) / name for name in files}
    exist = [name for name, path in paths.items() if os.path.lexists(path)]
    preserved = [str(paths.pop(name)) for name in exist if name in PRESERVED]
    present = [str(path) for name, path in paths.items() if name in exist]
    if present and not force:
        verb = "exists" if len(present) == 1 else "exist"
        raise UsageError(f"{_listed(present)} {verb} already", hint="add --force to overwrite")
    for path in paths.values():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path.parent} cannot be created: {error.strerror}") from error
        check_writable(path)
    for name, path in paths.items():
        write_whole(path, files[name])
    if as_json:
        console.print_json({"written": [str(path) for path in paths.values()], "kept": preserved})
        return
    project_option = "" if folder == "." else f" --project {folder}"
    console.message(f"wrote {_listed([str(path) for path in paths.values()])}")
    if preserved:
        console.message(f"kept {_listed(preserved)}")
    console.message(f"next: olympus build{project_option}")


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
