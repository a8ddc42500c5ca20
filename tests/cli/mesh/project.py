"""Targets on the eight devices of a mesh."""

from __future__ import annotations

from pathlib import Path

LAYER = """\
import olympus.numpy as np


def layer(x, w):
    return np.tanh(x @ w["up"]) @ w["down"]


def both(x):
    return {"a": x + 1, "b": x.sum()}


def init():
    return {"up": np.zeros((16, 32)), "down": np.zeros((32, 16))}
"""


MESH = """\
[target.layer]
entry = "layers:layer"
mesh = { data = 2, model = 4 }
out-sharding = ["data"]
{more}
[target.layer.args]
x = { shape = "f32[8,16]", sharding = ["data"] }
w = { up = { shape = "f32[16,32]", sharding = ["", "model"] }, down = "f32[32,16]" }
"""


def written(folder: Path, text: str = MESH, more: str = "") -> None:
    (folder / "layers.py").write_text(LAYER)
    (folder / "olympus.toml").write_text(text.replace("{more}", more))


BUNDLE = "build/layer/layer.olympus"


OWN = """\
import olympus
from olympus import P, lax
from olympus.sharding import NamedSharding

mesh = olympus.make_mesh((2, 4), ("data", "model"), olympus.sharding.AxisType.Auto)
rows, columns = NamedSharding(mesh, P("data")), NamedSharding(mesh, P(None, "model"))


def product(x, w):
    def body(x, w):
        return lax.psum(x @ w, "model")

    specs = P("data", "model"), P("model")
    return olympus.shard_map(body, mesh=mesh, in_specs=specs, out_specs=P("data"))(x, w)


turned = olympus.jit(product, in_shardings=(rows, None), out_shardings=columns)
"""


OWN_TARGET = """\
[target.turned]
entry = "own:turned"
mesh = { data = 2, model = 4 }
donate = ["x"]
args = { x = "f32[8,8]", w = "f32[8,8]" }
"""


ARGS = '[target.f]\nentry = "layers:both"\nmesh = { data = 2, model = 4 }\n'
