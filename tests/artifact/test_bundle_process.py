"""A bundle is called in a process without the module of its program."""

from __future__ import annotations

from pathlib import Path

from tests.artifact.bundles import python

MODULE = """
from typing import NamedTuple
import olympus
from olympus import lax

class State(NamedTuple):
    mean: olympus.Array
    count: olympus.Array

@olympus.tree_util.register_pytree_node_class
class Model:
    def __init__(self, w): self.w = w
    def tree_flatten(self): return (self.w,), None
    @classmethod
    def tree_unflatten(cls, _, children): return cls(*children)

def step(model, state, x, *, scale):
    y = lax.mul(lax.sin(lax.mul(model.w, x)), scale)
    return State(lax.mul(state.mean, scale), lax.add(state.count, 1)), {"y": y}
"""
BUILD = """
import numpy as np, olympus, user
from olympus import artifact
s = olympus.ShapeDtypeStruct
args = (user.Model(s((3,), "float32")), user.State(s((), "float32"), s((), "int32")),
        s((3,), "float32"))
traced = olympus.jit(user.step).trace(*args, scale=s((), "float32"))
lowered = traced.lower()
artifact.save("step.olympus", lowered.compile(), lowered=lowered, name="step",
              olympuspr_text=str(traced.olympuspr), entry="user:step")
"""
CALL = """
import sys
import numpy as np
from olympus import artifact
bundle = artifact.load("step.olympus")
compiled = bundle.compiled(recompile=False)
w, x = np.arange(3, dtype="float32"), np.ones(3, "float32")
(mean, count), parts = compiled((w,), (np.float32(1), np.int32(4)), x, scale=np.float32(2))
np.testing.assert_allclose(parts["y"], 2 * np.sin(w * x), rtol=1e-5)
assert (float(mean), int(count)) == (2.0, 5)
assert type(compiled((w,), (1.0, 4), x, scale=2.0)[0]).__name__ == "State"
types = [node.type for node in bundle.manifest.signature.argument_tree.items[0].items]
assert types == ["user:Model", "user:State", None], types
assert "user" not in sys.modules and "jax" not in sys.modules and "pickle" not in vars(artifact)
try:
    compiled(w, (1.0, 4), x, scale=2.0)
except TypeError as error:
    print(error)
"""


def test_a_bundle_is_called_without_its_module(tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text(MODULE)
    python(BUILD, tmp_path)
    user.unlink()
    output = python(CALL, tmp_path)
    assert output.startswith(
        "'step' cannot be called with these arguments: model must be Model or a tuple of its parts"
    )
