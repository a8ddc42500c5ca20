"""Programs of libraries on JAX: Flax, Optax, Equinox, NumPyro and mctx."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
from click.testing import Result

from tests.day import by_day

Invoke = Callable[..., Result]

NNX = """
from flax import nnx
import jax
import optax


class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(8, 16, use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.out = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.norm(self.hidden(x))))[:, 0]


def create():
    net = Net(nnx.Rngs(0))
    return net, nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)


def init():
    return nnx.split(create())[1]


GRAPH = nnx.split(nnx.eval_shape(create))[0]


@jax.jit
def f(state, x):
    net, optimizer = nnx.merge(GRAPH, state)
    loss, grads = nnx.value_and_grad(lambda net: (net(x) ** 2).mean())(net)
    optimizer.update(net, grads)
    return nnx.split((net, optimizer))[1], loss
"""
NNX_JIT = """
from flax import nnx


def init():
    return nnx.Sequential(nnx.Linear(8, 4, rngs=nnx.Rngs(0)), nnx.relu)


@nnx.jit
def f(net, x):
    return net(x)
"""
LINEN = """
import jax
import optax
from flax import linen
from flax.training.train_state import TrainState

dropout = linen.Dropout(0.5, deterministic=False)
model = linen.Sequential([linen.Dense(16), linen.tanh, dropout, linen.Dense(1)])


def init():
    key = jax.random.key(0)
    params = model.init({"params": key, "dropout": key}, jax.numpy.zeros((1, 8)))["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(1e-3))
    return state, key


@jax.jit
def f(state, x):
    state, key = state

    def loss(params):
        return (state.apply_fn({"params": params}, x, rngs={"dropout": key}) ** 2).mean()

    value, grads = jax.value_and_grad(loss)(state.params)
    return (state.apply_gradients(grads=grads), jax.random.split(key, 1)[0]), value
"""
EQUINOX = """
import equinox
import jax


def init():
    return equinox.nn.MLP(8, 1, 16, 2, key=jax.random.key(0))


@equinox.filter_jit
def f(model, x):
    return equinox.filter_grad(lambda m: (jax.vmap(m)(x) ** 2).mean())(model)
"""
NUMPYRO = """
import jax
import numpyro
from numpyro import distributions
from numpyro.infer.util import log_density


def regression(x):
    w = numpyro.sample("w", distributions.Normal(0, 1).expand([8]))
    scale = numpyro.sample("scale", distributions.HalfNormal(1))
    numpyro.sample("y", distributions.Normal(x @ w, scale), obs=x[:, 0])


def init():
    return {"w": jax.numpy.zeros(8), "scale": jax.numpy.ones(())}


@jax.jit
def f(params, x):
    return jax.value_and_grad(lambda p: log_density(regression, (x,), {}, p)[0])(params)
"""
MCTX = """
import jax
import mctx
from jax import numpy as jnp


def init():
    return jax.random.key(0)


def recurrent(params, key, action, embedding):
    y = jnp.tanh(embedding @ params + action[:, None])
    output = mctx.RecurrentFnOutput(
        reward=y[:, 0], discount=jnp.full(len(y), 0.9), prior_logits=y[:, :4], value=y[:, 1]
    )
    return output, y


@jax.jit
def f(key, x):
    root = mctx.RootFnOutput(prior_logits=x[:, :4], value=x[:, 0], embedding=x)
    policy = mctx.muzero_policy(jnp.eye(8), key, root, recurrent, 4, dirichlet_fraction=0.0)
    return policy.action, policy.action_weights
"""
LIBRARIES = {
    "flax.nnx": NNX,
    "flax.nnx.jit": NNX_JIT,
    "flax.linen": LINEN,
    "equinox": EQUINOX,
    "numpyro": NUMPYRO,
    "mctx": MCTX,
}
TOML = """
[target.f]
entry = "program:f"
args.{name} = {{ from = "program:init" }}
args.x = "f32[4,8]"
inputs.{name} = {{ from = "program:init" }}
inputs.x = {{ file = "x.npy" }}
"""
X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("library_program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leaves(value: Any) -> list[np.ndarray]:
    """Return the arrays of a result of JAX; typed keys as their bits."""
    arrays = [x for x in jax.tree.leaves(value) if hasattr(x, "dtype")]
    keys = [jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) for x in arrays]
    return [
        np.asarray(jax.random.key_data(x) if is_key else x)
        for x, is_key in zip(arrays, keys, strict=True)
    ]


@pytest.fixture(params=by_day(LIBRARIES, ("flax.nnx", "flax.linen", "equinox", "numpyro")))
def program(request: pytest.FixtureRequest, project: Path) -> ModuleType:
    """The module of a library's program; its target is in the working directory."""
    source = textwrap.dedent(LIBRARIES[request.param])
    (project / "program.py").write_text(source)
    module = imported(project / "program.py")
    name = source.partition("def f(")[2].partition(",")[0]
    (project / "olympus.toml").write_text(TOML.format(name=name))
    np.save(project / "x.npy", X)
    return module


def test_a_program_is_built_and_computes_as_in_jax(
    program: ModuleType, invoke: Invoke, tmp_path: Path
) -> None:
    result = invoke("build")
    assert result.exit_code == 0, result.stderr
    result = invoke("run", "f", "--output", str(tmp_path / "out.npz"))
    assert result.exit_code == 0, result.stderr
    results = [*np.load(tmp_path / "out.npz").values()]
    for ours, theirs in zip(results, leaves(program.f(program.init(), X)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
