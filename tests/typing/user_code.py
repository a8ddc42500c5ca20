"""Users' code that a strict type check accepts: each function is one kind of code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np

import olympus as ox
import olympus.numpy as jnp
from olympus import analysis, lax, nn, random, stages
from olympus.scipy import linalg, special
from olympus.scipy.stats import norm
from olympus.typing import ArrayLike, DTypeLike, KeyArray, ShapeLike


def scale(x: ArrayLike, factor: ArrayLike = 2, dtype: DTypeLike | None = None) -> ox.Array:
    return jnp.asarray(x, dtype=dtype) * factor


def creation(shape: ShapeLike, like: ox.Array) -> ox.Array:
    zeros = jnp.zeros(shape, dtype="float32") + jnp.ones(like.shape, jnp.bfloat16)
    full = jnp.full((2, like.shape[0]), 1.5, like.dtype) + jnp.zeros_like(like, dtype=np.float32)
    nested = jnp.array([[1, 2], [3, 4.0]]) + jnp.asarray([np.float32(1), True])
    numbers = jnp.arange(10)[::2] + jnp.linspace(0, 1, 5) + jnp.eye(5, k=1)[0]
    grid = jnp.mgrid[0:3, 0:2] + jnp.ogrid[0:3, 0:2][1] + jnp.r_[1:3, 5]
    ticks, step = jnp.linspace(0, 1, 5, retstep=True)
    on_device = jnp.zeros(3, device=ox.devices()[0])
    return (
        grid[0, 0]
        + zeros.sum()
        + full.sum()
        + nested.sum()
        + numbers
        + ticks * step
        + on_device.sum()
    )


def elementwise(x: ox.Array, values: np.ndarray[tuple[int], np.dtype[np.float32]]) -> ox.Array:
    y = jnp.sin(x) + jnp.exp(-jnp.abs(x)) * jnp.maximum(x, 0) - jnp.power(x, 2) / jnp.float32(3)
    y = jnp.where(x > 0, y, jnp.nan) + jnp.clip(x, min=0.0, max=1) + jnp.add(values, 1j)
    return jnp.round(y, 2) + jnp.logaddexp(x, True) + np.float32(1.0) * x


def reductions(x: ox.Array) -> float:
    total: ox.Array = jnp.sum(x, axis=(0, 1), keepdims=True, where=x > 0)
    spread = jnp.std(x, axis=-1, ddof=1) + jnp.nanmax(x, axis=0, initial=-1.0)
    mean, weight = jnp.average(x, weights=x, returned=True)
    middle = jnp.quantile(x, jnp.array([0.1, 0.9]), axis=[0, 1], method="lower")
    return float(total.max() + spread.min() + mean * weight + middle[0] + jnp.cumsum(x, axis=0)[-1])


def shapes(x: ox.Array, y: ox.Array) -> list[ox.Array]:
    joined = jnp.concatenate([x, y, np.zeros(3)], axis=0) + jnp.stack((x, y), axis=1)
    rows = jnp.vstack([x, 1.0]).reshape(2, -1).reshape((3, 4), order="F").transpose(1, 0)
    several = jnp.atleast_2d(x, y)
    flat = jnp.atleast_1d(x).ravel() + jnp.moveaxis(rows, (0, 1), (1, 0)).squeeze(0)
    flat = jnp.roll(flat, 1) + jnp.roll(x, (1, -1), axis=(0, 1)) + jnp.expand_dims(y, (0, 1))
    padded = jnp.pad(x, ((1, 2), (0, 0))) + jnp.tile(y, (2, 1)) + jnp.repeat(x, 2, axis=0)
    return [joined, flat, padded, *several, *jnp.split(x, [1, 3]), *jnp.meshgrid(x, y)]


def indexing(x: ox.Array, i: ox.Array) -> ox.Array:
    picked = x[0] + x[-1, :] + x[..., None] + x[i] + x[i > 0] + x[:, [0, 2]] + x[1:3, i, ::2]
    picked = picked + x.at[0].set(1.0) + x.at[i, 1].add(x, mode="drop", unique_indices=True)
    picked = picked + x.at[1:].get(mode="fill", fill_value=0) + x.at[0].apply(jnp.sin)
    (places,) = jnp.nonzero(x, size=3, fill_value=-1)
    (found,) = jnp.where(x > 0)
    return picked + jnp.take(x, i, axis=0) + jnp.take_along_axis(x, places[None], 0) + found


def methods(x: ox.Array) -> ox.Array:
    y = x.T @ x.astype(jnp.float16).real.conj() + x.mean(axis=0, dtype="float32").at[0].mul(2)
    y = y.sum(-1, keepdims=True).clip(0, 1).argsort(descending=True).swapaxes(0, 1).flatten()
    quotient, rest = divmod(y, 3)
    y = (2 - quotient) ** 2 // 3 % 5 + (1 / rest) + (1 << y) + (-y) + abs(~y) + round(y, 1)
    same: ox.Array = (x == y) & (x != 1) | (x <= y) ^ (x > np.float32(0))
    for row in y:
        y = y + row.max() * len(x) * x.ndim * x.size
    return jnp.where(same.all() | same.any(), y, 0).block_until_ready()


def values(
    x: ox.Array,
) -> tuple[int, float, bool, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    host = np.asarray(x, dtype=np.float32)
    host = host + np.asarray(np.from_dlpack(x), np.float32)
    return int(x.argmax()), float(x[0]), bool((x > 0).any()), host + x.numpy() + x.item()


def algebra(a: ox.Array, b: ox.Array) -> ox.Array:
    q, r = jnp.linalg.qr(a)
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    singular = jnp.linalg.svd(a, compute_uv=False)
    w = jnp.linalg.eigh(a).eigenvalues + jnp.linalg.norm(a, ord="fro", axis=(0, 1))
    product = jnp.einsum("ij,jk->ik", a, b, precision="highest") + jnp.matmul(a, b) + jnp.dot(a, b)
    solved = jnp.linalg.solve(a, b) + jnp.linalg.lstsq(a, b)[0] + jnp.linalg.inv(a)
    return q @ r + u * s @ vh + singular + w + product + solved + jnp.fft.fft(a, axis=-1).real


def sets_and_sorting(x: ox.Array) -> ox.Array:
    distinct = jnp.unique(x, size=3)
    elements, counts = jnp.unique(x, return_counts=True)
    order = jnp.argsort(x, axis=-1) + jnp.searchsorted(x, 0.5, side="right")
    edges = jnp.histogram(x, bins=10, range=(0, 1))[1]
    return jnp.sort(distinct) + elements * counts + order + edges + jnp.isin(x, elements)


def special_functions(x: ox.Array) -> ox.Array:
    total = special.gammaln(x) + special.erf(x=x) + special.betaln(a=x, b=2) + special.xlogy(x, x)
    return total + special.logsumexp(x, axis=0) + norm.logpdf(x, loc=0, scale=2.0)


def dtypes(x: ox.Array) -> bool:
    wide = jnp.promote_types("int8", jnp.uint8)
    limit = float(jnp.finfo(jnp.float32).eps + jnp.finfo(x.dtype).max) + jnp.iinfo("int32").max
    return jnp.issubdtype(x.dtype, jnp.floating) and wide == jnp.result_type(x, 1) and limit > 0


def functions(x: ox.Array) -> ox.Array:
    mapped = jnp.vectorize(lambda a, b: a + b)(x, x)
    pieces = jnp.piecewise(x, [x < 0], [lambda v: -v, 1.0])
    chosen = jnp.select([x < 0, x > 1], [x, 0], default=1)
    total: ox.Array = mapped + pieces + chosen
    return total


def loss(w: ox.Array, x: ox.Array) -> ox.Array:
    return jnp.mean(nn.relu(x @ w) ** 2) + jnp.sum(nn.softmax(w, axis=-1))


def train(w: ox.Array, x: ox.Array) -> ox.Array:
    step: Callable[..., ox.Array] = ox.jit(ox.grad(loss))
    value, slope = ox.value_and_grad(loss)(w, x)
    batched = ox.vmap(loss, in_axes=(None, 0))(w, x[None])
    updated: ox.Array = w - 0.1 * step(w, x) - slope * value * batched
    return updated


def ahead_of_time(x: ox.Array) -> ox.Array:
    lowered = ox.jit(loss).lower(x, x)
    compiled: stages.Compiled = lowered.compile()
    result: ox.Array = compiled(x, x)
    return result


def counted(x: ox.Array) -> tuple[int | None, analysis.CostRow, analysis.Unknown]:
    cost: analysis.Cost = ox.jit(loss).lower(x, x).cost(trips={"solver.py:41": 30})
    return cost.flops, cost.by("line")[0], cost.unknown[0]


def control(x: ox.Array) -> ox.Array:
    doubled: ox.Array = lax.fori_loop(0, 3, lambda i, v: v * 2, x)
    picked: ox.Array = lax.cond(x.sum() > 0, lambda v: v, jnp.negative, doubled)
    total: ox.Array
    total, _ = lax.scan(lambda c, v: (c + v, None), x[0], picked)
    result: ox.Array = total + lax.add(x, x) + lax.dynamic_slice_in_dim(x, 0, 1)
    return result


@ox.jit
def compiled(x: ox.Array, y: ArrayLike = 1) -> ox.Array:
    return x + y


@partial(ox.jit, static_argnums=(1,), donate_argnums=0)
def power(x: ox.Array, n: int) -> ox.Array:
    return x**n


class Model:
    def __init__(self, w: ox.Array) -> None:
        self.w = w

    @partial(ox.jit, static_argnums=0)
    def apply(self, x: ox.Array) -> ox.Array:
        return nn.relu(x @ self.w)


def compilation(x: ox.Array) -> ox.Array:
    y: ox.Array = compiled(x, y=2) + power(x, 3) + Model(x).apply(x)
    same: ox.Array = compiled.lower(x).compile()(x)
    return y + same


@ox.custom_jvp
def logarithm(x: ox.Array) -> ox.Array:
    return jnp.log(x)


@logarithm.defjvp
def logarithm_rule(
    primals: tuple[ox.Array], tangents: tuple[ox.Array]
) -> tuple[ox.Array, ox.Array]:
    (x,), (t,) = primals, tangents
    return logarithm(x), t / x


@ox.custom_vjp
def bounded(x: ox.Array, limit: float) -> ox.Array:
    return x


def bounded_forward(x: ox.Array, limit: float) -> tuple[ox.Array, float]:
    return bounded(x, limit), limit


def bounded_backward(limit: float, t: ox.Array) -> tuple[ox.Array, None]:
    return jnp.clip(t, -limit, limit), None


bounded.defvjp(bounded_forward, bounded_backward)


@ox.checkpoint
def layer(x: ox.Array) -> ox.Array:
    return jnp.tanh(x)


def loss_and_state(w: ox.Array, x: ox.Array) -> tuple[ox.Array, dict[str, ox.Array]]:
    return loss(w, x), {"w": w}


def derivatives(w: ox.Array, x: ox.Array) -> ox.Array:
    value, tangent = ox.jvp(loss, (w, x), (w, x))
    same, pull_back = ox.vjp(loss, w, x)
    slope, _ = pull_back(value)
    (total, state), gradient = ox.value_and_grad(loss_and_state, has_aux=True)(w, x)
    slope = slope + gradient + ox.grad(loss_and_state, has_aux=True)(w, x)[0]
    primal, push, aux = ox.vjp(loss_and_state, w, x, has_aux=True)
    result: ox.Array = value + tangent + same + slope + total + state["w"] + primal + aux["w"]
    pushed: ox.Array = push(primal)[0]
    return result + logarithm(x) + bounded(x, 1.0) + layer(x) + pushed


def flags(x: ox.Array, flag: bool) -> ox.Array:
    found = jnp.linalg.svd(x, compute_uv=flag)
    singular = found if isinstance(found, ox.Array) else found.S
    singular = singular + jnp.linalg.svd(x, False, False)
    ticks, step = jnp.linspace(0, 1, 5, True, True)
    mean, weight = jnp.average(x, None, x, True)
    elements = jnp.unique(x, flag)
    distinct = elements if isinstance(elements, ox.Array) else elements[0]
    common, left, right = jnp.intersect1d(x, x, False, True)
    total = special.logsumexp(x, return_sign=flag)
    fitted = jnp.polyfit(x, x, 2, full=flag)
    rows = jnp.indices((2, 3), sparse=flag)
    attended = nn.dot_product_attention(x, x, x, return_residual=flag)
    pairs = [total, fitted, rows, attended, linalg.expm_frechet(x, x, compute_expm=flag)]
    pairs += [linalg.svd(x, compute_uv=flag), linalg.eigh(x, eigvals_only=flag)]
    parts = [y if isinstance(y, ox.Array) else y[0] for y in pairs]
    singular = singular + linalg.svd(x, True, False) + linalg.eigh(x, None, True, True)
    return singular + ticks * step + mean * weight + distinct + common[left + right] + parts[0]


def keys(seed: int, x: ox.Array) -> ox.Array:
    key: KeyArray = random.key(seed)
    several: KeyArray = random.split(key, (4, 3))
    chosen: KeyArray = several.reshape(12, copy=True).take(jnp.array([0, 2]), mode="clip")[0]
    joined = cast(KeyArray, jnp.stack([key, chosen]))
    return random.normal(joined[0], x.shape) + random.uniform(several.T[0, 0])


def sampling(seed: int) -> ox.Array:
    key = random.key(seed)
    left, right = random.split(key)
    moved = jnp.stack([left, right]).reshape(2, 1)[::-1]
    chosen = jnp.where(moved[0, 0] == moved[1, 0], left, right)
    noise: ox.Array = random.normal(left, (2, 3), dtype="float32")
    result: ox.Array = noise + random.uniform(right, (3,), minval=-1.0)
    result = result + random.normal(chosen)
    return result


def add(c: ox.Array, v: ox.Array) -> tuple[ox.Array, None]:
    return c + v, None


@ox.checkpoint(prevent_cse=False)
def checkpointed(x: ox.Array) -> ox.Array:
    return jnp.sin(x)


def scalars_become_arrays(x: ox.Array, pair: bool) -> tuple[object, ...]:
    total, _ = lax.scan(lambda c, v: (c + v, None), 0.0, x)
    sure: ox.Array = lax.scan(add, 0.0, x)[0]
    count: ox.Array = lax.while_loop(lambda v: v < 3, lambda v: v + 1, 0)
    size: int = lax.psum(1, "i")
    most: ox.Array = lax.pmax(2.0, "i")
    program, _ = ox.make_olympuspr(checkpointed, (), None, True)(x)
    either = ox.make_olympuspr(checkpointed, return_shape=pair)(x)
    number: ox.Array = lax.convert_element_type(2.0, "float32").sum()
    parts: ox.Array = ox.ops.segment_sum(x, jnp.zeros(3, "int32"), 2, mode="clip")
    return total.shape, sure, count, size, most, program.eqns, either, number, parts
