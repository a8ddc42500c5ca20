"""The files that `olympus init` writes: a small program and a specification that builds it."""

from __future__ import annotations

__all__ = ["FILES"]

_MODEL = '''\
"""A two-layer perceptron: its parameters, its forward pass and its predictions."""

import olympus as ox
import olympus.numpy as np


def init(sizes=(784, 256, 10), seed=0):
    """Weights and biases, one pair a layer; `olympus build` takes only their shapes."""
    params = []
    key = ox.random.key(seed)
    for inputs, outputs in zip(sizes, sizes[1:]):
        key, sub = ox.random.split(key)
        weights = ox.random.normal(sub, (inputs, outputs)) / np.sqrt(inputs)
        params.append({"w": weights, "b": np.zeros(outputs)})
    return params


def forward(params, x):
    """Logits [batch, 10] of images [batch, 784]."""
    *hidden, last = params
    for layer in hidden:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def predict(params, x, top=False):
    """Probabilities, or, with the static `top`, the most probable class."""
    logits = forward(params, x)
    return np.argmax(logits, axis=-1) if top else ox.nn.softmax(logits)
'''

_TOML = """\
# What `olympus build` builds.  A target's program is shown by `olympus trace predict@batch=1` and
# `olympus lower predict@batch=1`; `olympus run predict@batch=1` executes it on seeded inputs.

[project]
# build-dir = "build"              # where the outputs go, relative to this file
# default-targets = ["predict"]    # what `olympus build` builds when it is given no names

[target.predict]
entry = "model:predict"            # module:function, or path/file.py:function
backends = ["cpu"]                 # also "gpu:h200": `olympus doctor` says what that needs

# Shapes of the arguments, by name.  A pytree is a table or an array of shapes, or, as here, what
# a function returns; it is evaluated abstractly, and nothing is allocated.
[target.predict.args]
params = { from = "model:init" }
x = "f32[{batch},784]"

# Arguments whose values are part of the program.
[target.predict.static]
top = false

# One program for each combination: predict@batch=1 and predict@batch=32.
[target.predict.matrix]
batch = [1, 32]
"""

#: Each file's name and its text.
FILES = {"model.py": _MODEL, "olympus.toml": _TOML}
