"""Numerical methods and transformations in the styles of the libraries that people build on JAX."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.examples.ported.table import XS, YS, program


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
        model = transform(net)
        params = model.init(jax.random.PRNGKey(3), XS)
        log_probs = jax.jit(model.apply)(params, None, XS)
        labels = jax.nn.one_hot(np.arange(16) % 3, 3)

        def loss(params):
            return -jnp.mean(jnp.sum(labels * model.apply(params, None, XS), axis=-1))

        with jax.debug_nans(True):
            grads = jax.grad(loss)(params)
        try:
            jnp.ones((2, 3)) + jnp.ones(3)
        except ValueError:
            refused = True
    finally:
        jax.config.update("jax_numpy_rank_promotion", "allow")
    with jax.disable_jit(), jax.default_matmul_precision("float32"):
        unstaged = jax.jit(model.apply)(params, None, XS)
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
