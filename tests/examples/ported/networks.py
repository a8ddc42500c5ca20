"""Networks and their training in the styles of the libraries that people build on JAX."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.examples.ported.table import XS, YS, program


@program
def optimizers(jax):
    """Gradient transformations as pairs of functions, chained, with states of named tuples."""
    jnp, tree_map = jax.numpy, jax.tree_util.tree_map

    class GradientTransformation(NamedTuple):
        init: Callable[..., Any]
        update: Callable[..., Any]

    class ScaleByAdamState(NamedTuple):
        count: jax.typing.ArrayLike
        mu: Any
        nu: Any

    class EmptyState(NamedTuple):
        pass

    def scale_by_adam(b1=0.9, b2=0.999, eps=1e-8):
        def init(params):
            mu, nu = tree_map(jnp.zeros_like, params), tree_map(jnp.zeros_like, params)
            return ScaleByAdamState(jnp.zeros([], jnp.int32), mu, nu)

        def update(updates, state, params=None):
            mu = tree_map(lambda g, m: (1 - b1) * g + b1 * m, updates, state.mu)
            nu = tree_map(lambda g, v: (1 - b2) * g**2 + b2 * v, updates, state.nu)
            count = state.count + jnp.array(1, dtype=state.count.dtype)
            hat = tree_map(lambda m: m / (1 - b1**count).astype(m.dtype), mu)
            var = tree_map(lambda v: v / (1 - b2**count).astype(v.dtype), nu)
            out = tree_map(lambda m, v: m / (jnp.sqrt(v) + eps), hat, var)
            return out, ScaleByAdamState(count, mu, nu)

        return GradientTransformation(init, update)

    def clip_by_global_norm(limit):
        def update(updates, state, params=None):
            norm = jnp.sqrt(
                jax.tree_util.tree_reduce(
                    lambda a, b: a + b, tree_map(lambda g: jnp.sum(jnp.square(g)), updates)
                )
            )
            fits = jnp.squeeze(norm < limit)
            return tree_map(
                lambda t: jax.lax.select(fits, t, (t / norm.astype(t.dtype)) * limit), updates
            ), state

        return GradientTransformation(lambda _: EmptyState(), update)

    def scale_by_schedule(step):
        def update(updates, state, params=None):
            return tree_map(lambda g: -step(state) * g, updates), state + 1

        return GradientTransformation(lambda _: jnp.zeros([], jnp.int32), update)

    def chain(*parts):
        def update(updates, state, params=None):
            new = []
            for s, part in zip(state, parts, strict=True):
                updates, s = part.update(updates, s, params)
                new.append(s)
            return updates, tuple(new)

        return GradientTransformation(lambda p: tuple(t.init(p) for t in parts), update)

    def cosine(count):
        return 0.1 * (0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(count, 50) / 50)))

    tx = chain(clip_by_global_norm(1.0), scale_by_adam(), scale_by_schedule(cosine))
    params = {"w": jnp.zeros(4), "b": jnp.zeros(())}

    def loss(params, x, y):
        return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updates, state = tx.update(grads, state, params)
        return tree_map(lambda p, u: (p + u).astype(p.dtype), params, updates), state, value

    state, values = tx.init(params), []
    for _ in range(20):
        params, state, value = step(params, state, XS, YS)
        values.append(value)
    return params, state, jnp.stack(values)


@program
def modules(jax):
    """Modules as dataclasses, with parameters by path, collections, and named scopes."""
    jnp = jax.numpy
    lecun_normal = jax.nn.initializers.lecun_normal()

    class Scope:
        def __init__(self, params, rng, path=()):
            self.params, self.rng, self.path = params, rng, path

        def param(self, name, init, *args):
            key = "/".join((*self.path, name))
            if key not in self.params:
                if self.rng is None:
                    raise KeyError(key)
                folded = jax.random.fold_in(self.rng, sum(map(ord, key)))
                self.params[key] = init(folded, *args)
            return self.params[key]

        def child(self, name):
            return Scope(self.params, self.rng, (*self.path, name))

    @dataclasses.dataclass(frozen=True)
    class Dense:
        features: int
        name: str = "dense"
        kernel_init: Callable[..., Any] = lecun_normal
        dtype: Any = jnp.float32

        def __call__(self, scope, x):
            with jax.named_scope(self.name):
                scope = scope.child(self.name)
                w = scope.param("kernel", self.kernel_init, (x.shape[-1], self.features))
                b = scope.param("bias", jax.nn.initializers.zeros, (self.features,))
                x, w, b = (jnp.asarray(v, self.dtype) for v in (x, w, b))
                dims = (((x.ndim - 1,), (0,)), ((), ()))
                return jax.lax.dot_general(x, w, dims) + b

    @dataclasses.dataclass(frozen=True)
    class LayerNorm:
        name: str = "norm"
        epsilon: float = 1e-6

        def __call__(self, scope, x):
            scope = scope.child(self.name)
            mean = jnp.mean(x, axis=-1, keepdims=True)
            var = jnp.mean(jax.lax.square(x - mean), axis=-1, keepdims=True)
            scale = scope.param("scale", jax.nn.initializers.ones, (x.shape[-1],))
            return (x - mean) * jax.lax.rsqrt(var + self.epsilon) * scale

    @dataclasses.dataclass(frozen=True)
    class MLP:
        widths: tuple[int, ...]
        act: Callable[..., Any] = jax.nn.gelu

        def __call__(self, scope, x, train=False, rng=None):
            for i, width in enumerate(self.widths[:-1]):
                x = self.act(Dense(width, f"layer_{i}")(scope, x))
                if train:
                    keep = jax.random.bernoulli(jax.random.fold_in(rng, i), 0.9, x.shape)
                    x = jnp.where(keep, x / 0.9, 0)
            return Dense(self.widths[-1], "out")(scope, LayerNorm()(scope, x))

    model = MLP((8, 8, 3))

    def init(rng, x):
        scope = Scope({}, rng)
        model(scope, x)
        return scope.params

    @functools.partial(jax.jit, static_argnames=("train",))
    def apply(params, x, train=False, rng=None):
        return model(Scope(params, None), x, train=train, rng=rng)

    params = jax.jit(init)(jax.random.PRNGKey(0), XS)
    shapes = jax.eval_shape(init, jax.random.PRNGKey(0), jax.ShapeDtypeStruct((1, 4), jnp.float32))
    assert jax.tree_util.tree_map(jnp.shape, params) == jax.tree_util.tree_map(
        lambda s: s.shape, shapes
    )
    count = sum(x.size for x in jax.tree_util.tree_leaves(params))
    names = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(params)]
    assert names[0] == "['layer_0/bias']"
    trained = apply(params, XS, train=True, rng=jax.random.PRNGKey(1))
    grads = jax.grad(lambda p: apply(p, XS).sum())(params)
    return apply(params, XS), trained, grads, count


@program
def recurrent(jax):
    """A recurrent network: a cell over time by scan, masked, with a checkpointed body."""
    jnp, lax = jax.numpy, jax.lax

    class Carry(NamedTuple):
        h: Any
        c: Any

    def lstm(params, carry, inputs):
        x, keep = inputs
        gates = jnp.concatenate([x, carry.h], axis=-1) @ params["w"] + params["b"]
        i, g, f, o = jnp.split(gates, indices_or_sections=4, axis=-1)
        c = jax.nn.sigmoid(f + 1) * carry.c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        new = Carry(h, c)
        keep = keep[..., None]
        return jax.tree_util.tree_map(lambda n, o: jnp.where(keep, n, o), new, carry), h

    def run(params, xs, lengths):
        batch, time = xs.shape[:2]
        mask = jnp.arange(time)[None] < lengths[:, None]
        carry = Carry(jnp.zeros((batch, 5)), jnp.zeros((batch, 5)))
        body = jax.checkpoint(functools.partial(lstm, params), prevent_cse=False)
        carry, hs = lax.scan(body, carry, (xs.swapaxes(0, 1), mask.T), unroll=2)
        return carry.h, hs.swapaxes(0, 1)

    k1, k2, k3 = jax.random.split(jax.random.PRNGKey(42), 3)
    init = jax.nn.initializers.glorot_uniform()
    params = {"w": init(k1, (3 + 5, 20)), "b": 0.1 * jax.random.normal(k2, (20,))}
    xs, lengths = jax.random.normal(k3, (4, 7, 3)), jnp.array([7, 3, 5, 1])

    def loss(params):
        last, hs = run(params, xs, lengths)
        return jnp.sum(last**2) + 1e-2 * jnp.mean(hs)

    return jax.jit(run)(params, xs, lengths), jax.jit(jax.grad(loss))(params)


@program
def attention(jax):
    """A transformer block: heads, masks, rotary positions, cached decoding, weights in bfloat16."""
    jnp, lax = jax.numpy, jax.lax
    heads, width, length = 2, 8, 6

    def rotary(x, positions):
        half = x.shape[-1] // 2
        freq = 1.0 / (10000 ** (jnp.arange(half, dtype=jnp.float32) / half))
        angles = jnp.einsum("t,f->tf", positions.astype(jnp.float32), freq)
        sin, cos = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def attend(params, x, positions, cache=None):
        q, k, v = jnp.moveaxis(
            jnp.einsum("td,dchk->tchk", x, params["qkv"]).astype(jnp.float32), 1, 0
        )
        q, k = rotary(q, positions), rotary(k, positions)
        if cache is not None:
            start = (positions[0], 0, 0)
            k = lax.dynamic_update_slice(cache[0], k, start)
            v = lax.dynamic_update_slice(cache[1], v, start)
        scores = jnp.einsum("thk,shk->hts", q, k) / np.sqrt(q.shape[-1])
        mask = jnp.arange(k.shape[0])[None] <= positions[:, None]
        scores = jnp.where(mask[None], scores, jnp.finfo(scores.dtype).min)
        out = jnp.einsum("hts,shk->thk", jax.nn.softmax(scores, axis=-1), v)
        return jnp.einsum("thk,hkd->td", out, params["o"]), (k, v)

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = {
        "qkv": jax.random.normal(keys[0], (width, 3, heads, 4)) * 0.3,
        "o": jax.random.normal(keys[1], (heads, 4, width)) * 0.3,
    }
    x = jax.random.normal(keys[2], (length, width))
    full, _ = jax.jit(attend)(params, x, jnp.arange(length))

    def decode(cache, inputs):
        i, row = inputs
        y, cache = attend(params, row[None], i[None], cache)
        return cache, y[0]

    empty = tuple(jnp.zeros((length, heads, 4)) for _ in range(2))
    _, one_by_one = lax.scan(decode, empty, (jnp.arange(length), x))
    np.testing.assert_allclose(full, one_by_one, atol=1e-5)
    half = jax.tree_util.tree_map(lambda p: p.astype(jnp.bfloat16), params)
    low, _ = attend(half, x.astype(jnp.bfloat16), jnp.arange(length))
    grads = jax.grad(lambda p: attend(p, x, jnp.arange(length))[0].sum())(params)
    return full, one_by_one, low.astype(jnp.float32), grads


@program
def dispatch(jax):
    """Queries of libraries: types, dtypes, tracers, and the errors that they expect."""
    jnp = jax.numpy

    def as_array(x: jax.typing.ArrayLike, dtype: jax.typing.DTypeLike | None = None) -> jax.Array:
        if not isinstance(x, jax.typing.ArrayLike):
            raise TypeError(f"{type(x)} is not an array")
        return jnp.asarray(x, dtype)

    def is_key(x):
        return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)

    def static_or_traced(x):
        try:
            return "positive" if x > 0 else "negative"
        except jax.errors.TracerBoolConversionError:
            return "traced"

    def table(dtype):
        return f"{jnp.dtype(dtype).name}:{dtype.__name__}:{jnp.finfo(dtype).bits}"

    seen = []

    @jax.jit
    def f(x):
        seen.append((static_or_traced(x), isinstance(x, jax.core.Tracer), str(jax.typeof(x))))
        return jax.lax.stop_gradient(x) * 2

    def by_name(**axes):
        return jax.vmap(lambda x, op: op(x), in_axes=(axes["x"], None))

    assert static_or_traced(1.0) == "positive"
    f(np.float32(1))
    assert seen == [("traced", True, "float32[]")]
    assert is_key(jax.random.key(0)) and not is_key(jnp.ones(1))
    assert [table(t) for t in (jnp.float32, jnp.bfloat16)] == [
        "float32:float32:32", "bfloat16:bfloat16:16",
    ]  # fmt: skip
    for bad in ("a", None, [1.0]):
        try:
            as_array(bad)
        except TypeError:
            continue
        raise AssertionError(bad)
    wide = jax.dtypes.canonicalize_dtype(np.float64)
    with jax.enable_x64(True):
        double = as_array(1.0, np.float64).dtype.name
    assert (wide, double) == (np.float32, "float64")
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(1.0)
    assert [e.primitive.name for e in closed.jaxpr.eqns] == ["sin", "add"]
    return by_name(x=1)(XS, jnp.sum), jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0)


@program
def ensembles(jax):
    """Many models: stacked parameters, partial application, early stopping, evaluation."""
    jnp = jax.numpy

    def init(key, sizes):
        keys = jax.random.split(key, len(sizes) - 1)
        return [
            {"w": jax.random.normal(k, (m, n)) / jnp.sqrt(m), "b": jnp.zeros((n,))}
            for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
        ]

    def forward(params, x):
        *hidden, last = params
        for layer in hidden:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        return (x @ last["w"] + last["b"])[..., 0]

    def loss(params, x, y):
        return jnp.mean(jax.vmap(forward, in_axes=(None, 0))(params, x) - y) ** 2

    params = jax.vmap(functools.partial(init, sizes=(4, 8, 1)))(
        jax.random.split(jax.random.PRNGKey(0), 3)
    )
    rates = jnp.array([0.01, 0.03, 0.1])

    @functools.partial(jax.jit, static_argnames="steps")
    @functools.partial(jax.vmap, in_axes=(0, 0, None, None, None), axis_name="model")
    def train(params, rate, x, y, steps=3):
        def step(p, _):
            value, g = jax.value_and_grad(loss)(p, x, y)
            p = jax.tree.map(lambda a, b: a - rate * b, p, g)
            return p, (value, jax.lax.pmean(value, "model"))

        return jax.lax.scan(step, params, length=steps)

    trained, (values, means) = train(params, rates, XS, YS, 3)
    best = jnp.argmin(values[:, -1])
    chosen = jax.tree.map(lambda p: p[best], trained)

    def output(b):
        return forward([*chosen[:-1], {**chosen[-1], "b": b}], XS[0]) ** 2

    return values, means, chosen, jax.hessian(output)(chosen[-1]["b"])
