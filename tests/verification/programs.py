"""Programs whose numbers are right, with inputs that they are verified on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax, nn

__all__ = ["PROGRAMS"]

_rng = np.random.default_rng(0)
_BF16 = ml_dtypes.bfloat16


def f32(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype("float32")


def bf16(*shape: int) -> Any:
    return f32(*shape).astype(_BF16)


def ints(low: int, high: int, *shape: int) -> Any:
    return _rng.integers(low, high, shape).astype("int32")


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.float32(q.shape[-1] ** 0.5)
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)


def layer_norm(x, g, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g + b


def rnn(x, w, u):
    def step(h, row):
        h = jnp.tanh(row @ w + h @ u)
        return h, h.sum()

    return lax.scan(step, jnp.zeros((x.shape[1], u.shape[0])), x)


def loss(params, x, y):
    scores = nn.log_softmax(jnp.tanh(x @ params["a"]) @ params["b"])
    return -(scores * nn.one_hot(y, scores.shape[-1])).sum(-1).mean()


def newton(x):
    def far(s):
        return jnp.abs(s * s - x).max() > 1e-3

    return lax.while_loop(far, lambda s: (s + x / s) / 2, x + 1)


def conv(x, k):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=numbers)


def cholesky(a):
    matrix = a @ a.T + jnp.eye(len(a)) * 4
    return jnp.linalg.cholesky(matrix), jnp.linalg.solve(matrix, a)


def drawn(x):
    key = olympus.random.key(3)
    return olympus.random.normal(key, x.shape) + x, olympus.random.permutation(key, x)


def scattered(x, i):
    empty = jnp.zeros(50)
    return empty.at[i].add(x), x[i], empty.at[i].max(x), x.at[i].set(1.0)


_HEADS = (1, 2, 16, 8)
_WEIGHTS = {"a": f32(32, 64) / 8, "b": f32(64, 10) / 8}
_HALF = {name: x.astype(_BF16) for name, x in _WEIGHTS.items()}

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "attention": (attention, (f32(*_HEADS), f32(*_HEADS), f32(*_HEADS))),
    "attention gradient": (
        olympus.grad(lambda q, k: attention(q, k, k).sum()),
        (f32(*_HEADS), f32(*_HEADS)),
    ),
    "layer norm": (layer_norm, (f32(8, 64), f32(64), f32(64))),
    "a mean that is zero": (lambda x: layer_norm(x, 1.0, 0.0).mean(-1), (f32(8, 64),)),
    "a sum that is zero": (
        lambda x: (x * 9 - (x * 9).mean()).sum(),
        ((f32(6, 6) * 9).astype("float16"),),
    ),
    "softmax of large logits": (lambda x: nn.softmax(x * 1e4), (f32(8, 100),)),
    "cumulative": (lambda x: (jnp.cumsum(x), jnp.cumprod(1 + x / 100)), (f32(500),)),
    "cumulative logsumexp": (lambda x: (lax.cumlogsumexp(x), lax.cummax(x)), (f32(500),)),
    "logsumexp": (lambda x: nn.logsumexp(x * 100, axis=-1), (f32(16, 300),)),
    "fft": (lambda x: (jnp.fft.rfft(x), jnp.fft.ifft(jnp.fft.fft(x)).real), (f32(4, 100),)),
    "cholesky": (cholesky, (f32(8, 8),)),
    "eigh": (lambda a: jnp.linalg.eigh(a + a.T), (f32(8, 8),)),
    "svd": (lambda a: jnp.linalg.svd(a)[1], (f32(8, 5),)),
    "sort": (lambda x: (jnp.sort(x), jnp.argsort(x)), (f32(301),)),
    "argmax of ties": (lambda x: jnp.argmax(jnp.round(x), -1), (f32(8, 100),)),
    "argmax of a softmax": (lambda x: jnp.argmax(nn.softmax(x), -1), (f32(30, 50),)),
    "rnn": (rnn, (f32(6, 3, 8), f32(8, 16) / 4, f32(16, 16) / 4)),
    "rnn gradient": (
        olympus.grad(lambda w, x, u: rnn(x, w, u)[1].sum()),
        (f32(8, 16) / 4, f32(6, 3, 8), f32(16, 16) / 4),
    ),
    "convolution": (conv, (f32(2, 12, 12, 3), f32(3, 3, 3, 8))),
    "convolution gradient": (
        olympus.grad(lambda k, x: (conv(x, k) ** 2).sum()),
        (f32(3, 3, 3, 8), f32(2, 12, 12, 3)),
    ),
    "loss and gradient": (olympus.value_and_grad(loss), (_WEIGHTS, f32(16, 32), ints(0, 10, 16))),
    "bfloat16 gradient": (olympus.grad(loss), (_HALF, bf16(16, 32), ints(0, 10, 16))),
    "bfloat16 products": (
        lambda x, w: nn.gelu(x @ w).astype("float32").sum(-1),
        (bf16(16, 64), bf16(64, 128)),
    ),
    "float16": (lambda x, w: nn.softmax(x @ w), tuple(f32(16, 16).astype("f2") for _ in "ab")),
    "float8": (lambda x: x.astype("float8_e4m3fn").astype("float32") * 2, (f32(64),)),
    "newton": (newton, (np.abs(f32(10)) + np.float32(0.5),)),
    "random": (drawn, (f32(100),)),
    "special": (lambda x: (lax.erf(x), lax.lgamma(x + 5), lax.digamma(x + 5)), (f32(300),)),
    "large angles": (lambda x: (jnp.sin(x * 1e4), jnp.cos(x * 1e3)), (f32(300),)),
    "powers": (lambda x: jnp.power(jnp.abs(x) + 0.1, 20.3), (f32(300),)),
    "branches": (lambda x: lax.cond(x.sum() > 0, jnp.exp, jnp.sin, x), (f32(30),)),
    "scatter": (scattered, (f32(100), ints(0, 50, 100))),
    "variance": (lambda x: (x.var(), x.std(-1)), (f32(50, 50) + 5,)),
    "integers": (
        lambda x: (x // 3, x % 7, x << 2, jnp.bitwise_xor(x, 5), x.astype("float16")),
        (ints(-100, 100, 50),),
    ),
    "hessian": (olympus.hessian(lambda t: (jnp.sin(t) * t**3).sum()), (f32(4),)),
    "complex": (lambda x: (x @ x, jnp.exp(x), jnp.abs(x)), ((f32(5, 5) + 1j).astype("c8"),)),
    "a long sum": (lambda x: (x.sum(), (x * 0 + 0.1).sum()), (f32(100_000),)),
    "nested": (
        olympus.grad(lambda x: olympus.jit(olympus.checkpoint(jnp.sin))(x * x).sum()),
        (f32(20),),
    ),
}
