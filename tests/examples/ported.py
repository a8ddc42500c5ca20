"""Programs in the styles of the libraries that people build on JAX.

Each is a function of the library's module, `jax` or `olympus`, and gives a tree of arrays: what it
computes is what the two must agree on.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Put a program in the table."""
    PROGRAMS[fun.__name__] = fun
    return fun


RNG = np.random.default_rng(0)
XS = RNG.normal(size=(16, 4)).astype(np.float32)
YS = (XS @ np.array([1.0, -2.0, 0.5, 3.0], np.float32) + 0.1).astype(np.float32)


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
def custom_derivatives(jax):
    """Layers with rules of their own: straight-through, clipped gradients, an implicit solver."""
    jnp = jax.numpy

    @jax.custom_vjp
    def straight_through(x):
        return jnp.round(x)

    straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))

    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def clipped(limit, x):
        return x

    clipped.defvjp(lambda limit, x: (x, None), lambda limit, _, g: (jnp.clip(g, -limit, limit),))

    @jax.custom_jvp
    def log1pexp(x):
        return jnp.log1p(jnp.exp(x))

    @log1pexp.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return log1pexp(x), t * (1 - 1 / (1 + jnp.exp(x)))

    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, x0):
        def cond(carry):
            before, after = carry
            return jnp.max(jnp.abs(before - after)) > 1e-6

        return jax.lax.while_loop(cond, lambda c: (c[1], f(a, c[1])), (x0, f(a, x0)))[1]

    def forward(f, a, x0):
        x = fixed_point(f, a, x0)
        return x, (a, x)

    def backward(f, res, g):
        a, x = res
        _, vjp_a = jax.vjp(lambda a: f(a, x), a)

        def step(packed, u):
            a, x, g = packed
            _, vjp_x = jax.vjp(lambda x: f(a, x), x)
            return g + vjp_x(u)[0]

        return *vjp_a(fixed_point(step, (a, x, g), g)), jnp.zeros_like(x)

    fixed_point.defvjp(forward, backward)

    def newton(a):
        return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a).sum()

    a = jnp.array([2.0, 3.0, 10.0])
    return {
        "through": jax.grad(lambda x: (straight_through(x) ** 2).sum())(XS[0]),
        "clipped": jax.vmap(jax.grad(lambda x: clipped(0.5, x) ** 3))(XS[0]),
        "softplus": jax.vmap(jax.grad(jax.grad(log1pexp)))(XS[0]),
        "large": jax.grad(log1pexp)(100.0),
        "root": jax.jit(jax.value_and_grad(newton))(a),
    }


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
def vectors(jax):
    """An optimizer of vectors on a model of trees: ravel_pytree, line search, curvature."""
    jnp = jax.numpy
    from_tree = jax.flatten_util.ravel_pytree
    params = {"a": jnp.ones((2, 2)) * 0.3, "b": (jnp.zeros(2), jnp.float32(0.5))}
    flat, unravel = from_tree(params)

    def loss(p):
        h = jnp.tanh(XS[:, :2] @ p["a"] + p["b"][0])
        return jnp.mean((h.sum(1) * p["b"][1] - YS) ** 2)

    def fun(v):
        return loss(unravel(v))

    def hvp(v, t):
        return jax.jvp(jax.grad(fun), (v,), (t,))[1]

    def cg(v, b, steps):
        def body(_, state):
            x, r, p = state
            ap = hvp(v, p) + 1.0 * p
            alpha = jnp.vdot(r, r) / jnp.vdot(p, ap)
            x, new = x + alpha * p, r - alpha * ap
            return x, new, new + jnp.vdot(new, new) / jnp.vdot(r, r) * p

        return jax.lax.fori_loop(0, steps, body, (jnp.zeros_like(b), b, b))[0]

    @jax.jit
    def step(v):
        direction = -cg(v, jax.grad(fun)(v), 3)

        def worse(t):
            return fun(v + t * direction) > fun(v) + 1e-4 * t * jnp.vdot(
                jax.grad(fun)(v), direction
            )

        t = jax.lax.while_loop(worse, lambda t: 0.5 * t, jnp.float32(1.0))
        return v + t * direction

    for _ in range(3):
        flat = step(flat)
    jax.test_util.check_grads(fun, (flat,), order=1, eps=1e-2, atol=5e-2, rtol=5e-2)
    jacobian = jax.jacfwd(lambda v: from_tree(unravel(v * 2))[0])(flat)
    return unravel(flat), fun(flat), jacobian


@program
def containers(jax):
    """Classes of the user's as trees: by keys, by decorators, static fields, bound methods."""
    jnp, tu = jax.numpy, jax.tree_util

    class FrozenDict(dict):
        def __hash__(self):
            return hash(tuple(sorted(self)))

    def with_keys(d):
        keys = tuple(sorted(d))
        return tuple((tu.DictKey(k), d[k]) for k in keys), keys

    tu.register_pytree_with_keys(
        FrozenDict, with_keys, lambda keys, xs: FrozenDict(zip(keys, xs, strict=True))
    )

    @tu.register_pytree_node_class
    class Affine:
        def __init__(self, w, b, activation=None):
            self.w, self.b, self.activation = w, b, activation

        def tree_flatten(self):
            return (self.w, self.b), self.activation

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children, activation=aux)

        @jax.jit
        def __call__(self, x):
            y = x @ self.w + self.b
            return y if self.activation is None else self.activation(y)

        @functools.partial(jax.jit, static_argnums=(2,))
        def power(self, x, n):
            return self(x) ** n

    @functools.partial(tu.register_dataclass, data_fields=["layers", "scale"], meta_fields=["name"])
    @dataclasses.dataclass
    class Model:
        layers: list[Any]
        scale: Any
        name: str = "model"

    class Static(NamedTuple):
        value: Any
        label: str

    tu.register_pytree_node(
        Static, lambda s: ((s.value,), s.label), lambda label, xs: Static(xs[0], label)
    )
    model = Model([Affine(jnp.ones((4, 3)), jnp.zeros(3), jnp.tanh), Affine(jnp.eye(3), 1.0)], 2.0)

    @jax.jit
    def forward(model, x, extra):
        assert extra.label == "shift"
        for layer in model.layers:
            x = layer(x)
        return model.scale * x + extra.value

    extra = Static(jnp.float32(0.1), "shift")
    grads = jax.grad(lambda m: forward(m, XS, extra).mean())(model)
    paths = [tu.keystr(p) for p, _ in tu.tree_flatten_with_path({"m": FrozenDict(b=1, a=2)})[0]]
    assert paths == ["['m']['a']", "['m']['b']"]
    summed = tu.tree_map(lambda x, y: x + y, FrozenDict(a=1.0), FrozenDict(a=2.0))
    stacked = jax.vmap(lambda m, x: m(x), in_axes=(None, 0))(model.layers[0], XS)
    bound = tu.Partial(model.layers[1], XS[:, :3])
    return (
        forward(model, XS, extra),
        tu.tree_leaves(grads),
        dict(summed),
        stacked,
        model.layers[0].power(XS, 2),
        jax.jit(lambda f: f())(bound),
    )


@program
def transformed(jax):
    """Pure functions of impure ones: parameters made by name in a frame that is global."""
    jnp = jax.numpy
    jax.config.update("jax_numpy_rank_promotion", "raise")
    frames: list[Any] = []

    class Transformed(NamedTuple):
        init: Callable[..., Any]
        apply: Callable[..., Any]

    def get_parameter(name, shape, init):
        params, keys = frames[-1]
        if name not in params:
            params[name] = init(next(keys), shape, jnp.float32)
        return params[name]

    def keys_of(rng):
        while True:
            rng, key = jax.random.split(rng)
            yield key

    def transform(f):
        def init(rng, *args):
            frames.append(({}, keys_of(rng)))
            try:
                f(*args)
                return frames[-1][0]
            finally:
                frames.pop()

        def apply(params, rng, *args):
            frames.append((dict(params), keys_of(rng) if rng is not None else iter(())))
            try:
                return f(*args)
            finally:
                frames.pop()

        return Transformed(init, apply)

    def linear(x, n, name):
        w = get_parameter(f"{name}/w", (x.shape[-1], n), jax.nn.initializers.truncated_normal(0.5))
        b = get_parameter(f"{name}/b", (n,), jax.nn.initializers.zeros)
        return jnp.dot(x, w) + jnp.broadcast_to(b, (*x.shape[:-1], n))

    def net(x):
        h = jax.nn.relu(linear(x, 6, "hidden"))
        return jax.nn.log_softmax(linear(h, 3, "out"))

    try:
        made = transform(net)
        params = made.init(jax.random.PRNGKey(3), XS)
        log_probs = jax.jit(made.apply)(params, None, XS)
        labels = jax.nn.one_hot(np.arange(16) % 3, 3)

        def loss(params):
            return -jnp.mean(jnp.sum(labels * made.apply(params, None, XS), axis=-1))

        with jax.debug_nans(True):
            grads = jax.grad(loss)(params)
        try:
            jnp.ones((2, 3)) + jnp.ones(3)
        except ValueError:
            refused = True
    finally:
        jax.config.update("jax_numpy_rank_promotion", "allow")
    with jax.disable_jit(), jax.default_matmul_precision("float32"):
        unstaged = jax.jit(made.apply)(params, None, XS)
    return params, log_probs, grads, refused, unstaged


@program
def differential_equations(jax):
    """An adaptive Runge-Kutta solver: while loops of states, dense output, batches of them."""
    jnp, lax = jax.numpy, jax.lax

    class State(NamedTuple):
        t: Any
        y: Any
        dt: Any
        steps: Any
        done: Any

    A = [[], [1 / 2], [0.0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]]
    ERROR = [2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8]
    tree_map = jax.tree_util.tree_map

    def solve(field, y0, t1, args, rtol=1e-5, atol=1e-6, max_steps=500):
        def stages(t, y, dt):
            ks = []
            for row in A:
                yi = y
                for a, k in zip(row, ks, strict=True):
                    yi = tree_map(lambda y, k, a=a: y + a * dt * k, yi, k)
                ks.append(field(t + sum(row) * dt, yi, args))
            return yi, ks

        def body(s):
            dt = jnp.minimum(s.dt, t1 - s.t)
            y, ks = stages(s.t, s.y, dt)
            error = tree_map(lambda *k: dt * sum(e * x for e, x in zip(ERROR, k, strict=True)), *ks)
            scaled = tree_map(
                lambda e, a, b: e / (atol + rtol * jnp.maximum(jnp.abs(a), jnp.abs(b))),
                error, s.y, y,
            )  # fmt: skip
            flat, _ = jax.flatten_util.ravel_pytree(scaled)
            norm = jnp.sqrt(jnp.mean(flat**2))
            keep = norm < 1
            factor = jnp.clip(0.9 * norm ** (-1 / 3), 0.2, 10.0)
            t = jnp.where(keep, s.t + dt, s.t)
            new = tree_map(functools.partial(jnp.where, keep), y, s.y)
            return State(t, new, dt * factor, s.steps + 1, t >= t1)

        init = State(jnp.zeros_like(t1), y0, jnp.full_like(t1, 0.01), 0, False)
        return lax.while_loop(lambda s: ~s.done & (s.steps < max_steps), body, init)

    def lotka(t, y, args):
        prey, predator = y["prey"], y["predator"]
        a, b, c, d = args
        return {
            "prey": a * prey - b * prey * predator,
            "predator": d * prey * predator - c * predator,
        }

    y0 = {"prey": jnp.array(10.0), "predator": jnp.array(5.0)}
    args = (1.1, 0.4, 0.4, 0.1)
    one = jax.jit(functools.partial(solve, lotka))(y0, jnp.float32(3.0), args)
    many = jax.jit(jax.vmap(lambda t: solve(lotka, y0, t, args).y))(jnp.linspace(0.5, 3.0, 4))

    def fixed(a):
        def step(y, _):
            dy = lotka(0.0, y, (a, *args[1:]))
            return tree_map(lambda y, d: y + 0.05 * d, y, dy), y["prey"]

        end, path = lax.scan(step, y0, None, length=20)
        return end["predator"] + path.mean()

    return one.t, one.y, many, jax.grad(fixed)(1.1), jax.jvp(fixed, (1.1,), (1.0,))[1]


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
def sampling(jax):
    """Hamiltonian Monte Carlo over trees: keys, kernels as closures, chains by vmap."""
    jnp = jax.numpy
    tree_map = jax.tree_util.tree_map

    class HMCState(NamedTuple):
        position: Any
        logdensity: Any
        grad: Any

    def logdensity(p):
        return -0.5 * (jnp.sum(p["x"] ** 2) + (p["y"] - 1.0) ** 2 / 0.25)

    def init(position):
        return HMCState(position, *jax.value_and_grad(logdensity)(position))

    def momentum_like(key, tree):
        leaves, treedef = jax.tree_util.tree_flatten(tree)
        keys = jax.tree_util.tree_unflatten(treedef, list(jax.random.split(key, len(leaves))))
        return tree_map(lambda k, x: jax.random.normal(k, jnp.shape(x), x.dtype), keys, tree)

    def kernel(key, state, step=0.2, steps=5):
        k1, k2 = jax.random.split(key)
        p0 = momentum_like(k1, state.position)

        def leapfrog(_, carry):
            q, p, g = carry
            p = tree_map(lambda p, g: p + 0.5 * step * g, p, g)
            q = tree_map(lambda q, p: q + step * p, q, p)
            g = jax.grad(logdensity)(q)
            return q, tree_map(lambda p, g: p + 0.5 * step * g, p, g), g

        q, p, _ = jax.lax.fori_loop(0, steps, leapfrog, (state.position, p0, state.grad))
        new = init(q)

        def energy(s, p):
            return -s.logdensity + 0.5 * sum(jnp.sum(x**2) for x in jax.tree_util.tree_leaves(p))

        ratio = jnp.exp(energy(state, p0) - energy(new, p))
        accept = jax.random.uniform(k2) < ratio
        return jax.lax.cond(accept, lambda: new, lambda: state), accept

    @functools.partial(jax.jit, static_argnums=2)
    def chain(key, position, n):
        def body(state, key):
            state, accepted = kernel(key, state)
            return state, (state.position, accepted)

        return jax.lax.scan(body, init(position), jax.random.split(key, n))[1]

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    start = {"x": jnp.zeros((3, 2)), "y": jnp.zeros(3)}
    positions, accepted = jax.vmap(chain, in_axes=(0, 0, None))(keys, start, 10)
    return positions, accepted.mean()


@program
def dispatch(jax):
    """What libraries ask of values: types, dtypes, tracers, and errors that they expect."""
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
    """Many models at once: stacked parameters, partial application, early stopping, evaluation."""
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
