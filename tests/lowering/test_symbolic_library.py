"""Library functions traced with symbolic shapes and refined, compared to static programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import ShapeDtypeStruct, checkpoint, grad, jit, lax, nn, random, vmap
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.dimensions.shapes import symbolic_shape
from olympus_core.base.dimensions.solving import evaluated
from olympus_core.mlir import bindings as mlir
from olympus_core.stages.stages import Lowered
from olympus_core.xla.runtime.program_formats import refined

B, C = symbolic_shape("b, c")
F, INT = "float32", "int32"
Spec = tuple[tuple[Any, ...], str]
ROWS: Spec = ((B, 4), F)
BOTH: Spec = ((B, C), F)
VECTOR: Spec = ((B,), F)
INDICES: Spec = ((B,), INT)
WEIGHTS: Spec = ((4, 6), F)
MATRICES: Spec = ((B, 4, 4), F)
IMAGES: Spec = ((B, 3, 9, 9), F)
SQUARE: Spec = ((B, B), F)
ATT: Spec = ((B, C, 2, 4), F)


class Case(NamedTuple):
    """A function and the symbolic types of its arguments."""

    name: str
    function: Callable[..., Any]
    specs: tuple[Spec, ...]


def attn(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(jnp.where(mask, scores, -1e9)), v)


def mlp(x: Any, w1: Any, w2: Any) -> Any:
    return nn.softmax(nn.relu(x @ w1) @ w2)


CASES = [
    Case("sin", jnp.sin, (ROWS,)),
    Case("add", lambda x: x + 1, (ROWS,)),
    Case(
        "addxx",
        lambda x, y: x * y + x,
        (
            BOTH,
            BOTH,
        ),
    ),
    Case(
        "bcast",
        lambda x, y: x + y[:, None],
        (
            ROWS,
            VECTOR,
        ),
    ),
    Case(
        "bcast1",
        lambda x, y: x + y,
        (
            ROWS,
            ((4,), F),
        ),
    ),
    Case("mean", lambda x: x.mean(), (ROWS,)),
    Case("mean0", lambda x: x.mean(0), (ROWS,)),
    Case("var", lambda x: x.var(0), (ROWS,)),
    Case("std", lambda x: x.std(), (BOTH,)),
    Case("sum", lambda x: x.sum(1), (BOTH,)),
    Case("arange", lambda x: jnp.arange(x.shape[0]) * x, (VECTOR,)),
    Case("shapeval", lambda x: x * x.shape[0], (VECTOR,)),
    Case("shapediv", lambda x: x / x.shape[0], (VECTOR,)),
    Case("arrshape", lambda x: jnp.array(x.shape[0]) + x, (VECTOR,)),
    Case("zeros", lambda x: jnp.zeros((x.shape[0] + 1, 3)) + 1, (VECTOR,)),
    Case("ones_like", lambda x: jnp.ones_like(x), (VECTOR,)),
    Case("full", lambda x: jnp.full(x.shape, x.shape[0]), (VECTOR,)),
    Case("reshape", lambda x: x.reshape(-1), (ROWS,)),
    Case("reshape2", lambda x: x.reshape(-1, 2), (ROWS,)),
    Case("reshape3", lambda x: x.reshape((2, -1)), (ROWS,)),
    Case("ravel", lambda x: x.ravel(), (BOTH,)),
    Case("flatten_T", lambda x: x.T.reshape(-1), (BOTH,)),
    Case(
        "concat",
        lambda x, y: jnp.concatenate([x, x + 1, y]),
        (
            VECTOR,
            ((C,), F),
        ),
    ),
    Case("stack", lambda x: jnp.stack([x, x]), (VECTOR,)),
    Case("pad", lambda x: jnp.pad(x, ((1, 2), (0, 0))), (ROWS,)),
    Case("pad_mode", lambda x: jnp.pad(x, ((1, 0), (0, 0)), mode="edge"), (ROWS,)),
    Case("slice", lambda x: x[1:], (((B + 2,), F),)),
    Case("slice2", lambda x: x[:-1], (VECTOR,)),
    Case("slice3", lambda x: x[::2], (VECTOR,)),
    Case("slice4", lambda x: x[::-1], (VECTOR,)),
    Case("slice5", lambda x: x[-2:], (((B + 2,), F),)),
    Case("idx0", lambda x: x[0], (ROWS,)),
    Case("idx-1", lambda x: x[-1], (ROWS,)),
    Case("idxcol", lambda x: x[:, 1], (ROWS,)),
    Case("idxslc", lambda x: x[:, 1:3], (ROWS,)),
    Case(
        "gather",
        lambda x, i: x[i],
        (
            ROWS,
            ((5,), INT),
        ),
    ),
    Case(
        "gather2",
        lambda x, i: x[i],
        (
            ((7, 3), F),
            INDICES,
        ),
    ),
    Case(
        "take",
        lambda x, i: jnp.take(x, i, axis=0),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case(
        "take_along",
        lambda x, i: jnp.take_along_axis(x, i, axis=1),
        (
            ROWS,
            ((B, 2), INT),
        ),
    ),
    Case("at_set", lambda x: x.at[0].set(1.0), (ROWS,)),
    Case(
        "at_add",
        lambda x, i: x.at[i].add(1.0),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("at_slice", lambda x: x.at[:, 1].set(0.0), (ROWS,)),
    Case("at_slice1", lambda x: x.at[1:].set(0.0), (((B + 1,), F),)),
    Case(
        "dot",
        lambda x, w: x @ w,
        (
            ROWS,
            WEIGHTS,
        ),
    ),
    Case(
        "matmul",
        lambda x, y: x @ y,
        (
            MATRICES,
            MATRICES,
        ),
    ),
    Case("dotxx", lambda x: x.T @ x, (ROWS,)),
    Case(
        "outer",
        lambda x, y: jnp.outer(x, y),
        (
            VECTOR,
            VECTOR,
        ),
    ),
    Case(
        "einsum",
        lambda x, w: jnp.einsum("bi,io->bo", x, w),
        (
            ROWS,
            WEIGHTS,
        ),
    ),
    Case("einsum2", lambda x: jnp.einsum("bij,bjk->bik", x, x), (MATRICES,)),
    Case(
        "einsum3",
        lambda x, y: jnp.einsum("bi,ci->bc", x, y),
        (
            ROWS,
            ((C, 4), F),
        ),
    ),
    Case(
        "tensordot",
        lambda x, w: jnp.tensordot(x, w, 1),
        (
            ROWS,
            WEIGHTS,
        ),
    ),
    Case("vdot", lambda x: jnp.vdot(x, x), (ROWS,)),
    Case("cumsum", lambda x: jnp.cumsum(x, 0), (ROWS,)),
    Case("cumprod", lambda x: jnp.cumprod(x, 0), (ROWS,)),
    Case("cummax", lambda x: lax.cummax(x, 0), (ROWS,)),
    Case("cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis=0), (ROWS,)),
    Case("sort", lambda x: jnp.sort(x, 0), (ROWS,)),
    Case("argsort", lambda x: jnp.argsort(x, 0), (ROWS,)),
    Case("argmax", lambda x: jnp.argmax(x, 0), (ROWS,)),
    Case("argmin1", lambda x: jnp.argmin(x, 1), (ROWS,)),
    Case("argmaxall", lambda x: jnp.argmax(x), (BOTH,)),
    Case("max", lambda x: x.max(0), (ROWS,)),
    Case("topk", lambda x: lax.top_k(x, 2), (ROWS,)),
    Case("median", lambda x: jnp.median(x, 1), (ROWS,)),
    Case("onehot", lambda i: nn.one_hot(i, 5), (INDICES,)),
    Case("softmax", lambda x: nn.softmax(x), (ROWS,)),
    Case("softmax0", lambda x: nn.softmax(x, axis=0), (ROWS,)),
    Case("logsumexp", lambda x: nn.logsumexp(x, 0), (ROWS,)),
    Case("relu", nn.relu, (ROWS,)),
    Case("gelu", nn.gelu, (ROWS,)),
    Case("silu", nn.silu, (ROWS,)),
    Case("std_2", lambda x: nn.standardize(x), (ROWS,)),
    Case("logsoft", nn.log_softmax, (ROWS,)),
    Case("glu", nn.glu, (ROWS,)),
    Case("split", lambda x: jnp.split(x, 2, axis=1), (ROWS,)),
    Case("split0", lambda x: jnp.split(x, 2, axis=0), (((2 * B, 3), F),)),
    Case("splitidx", lambda x: jnp.split(x, [1], axis=0), (((B + 1, 3), F),)),
    Case("roll", lambda x: jnp.roll(x, 1), (VECTOR,)),
    Case("roll0", lambda x: jnp.roll(x, 1, axis=0), (ROWS,)),
    Case("flip", lambda x: jnp.flip(x, 0), (ROWS,)),
    Case("tile", lambda x: jnp.tile(x, (2, 3)), (ROWS,)),
    Case("repeat", lambda x: jnp.repeat(x, 3, axis=0), (ROWS,)),
    Case("transpose", lambda x: x.T, (BOTH,)),
    Case("swap", lambda x: jnp.swapaxes(x, 0, 1), (MATRICES,)),
    Case("squeeze", lambda x: jnp.squeeze(x[:, None], 1), (ROWS,)),
    Case("expand", lambda x: x[None], (ROWS,)),
    Case("moveaxis", lambda x: jnp.moveaxis(x, 0, -1), (MATRICES,)),
    Case("where", lambda x: jnp.where(x > 0, x, 0.0), (ROWS,)),
    Case("clip", lambda x: jnp.clip(x, -1, 1), (ROWS,)),
    Case("select", lambda x: lax.select(x > 0, x, -x), (ROWS,)),
    Case("maximum", lambda x: jnp.maximum(x, 0), (ROWS,)),
    Case("isnan", lambda x: jnp.isnan(x), (ROWS,)),
    Case("astype", lambda x: x.astype(INT), (ROWS,)),
    Case("all", lambda x: jnp.all(x > 0), (ROWS,)),
    Case("any0", lambda x: jnp.any(x > 0, axis=0), (ROWS,)),
    Case("prod", lambda x: x.prod(0), (ROWS,)),
    Case("grad", grad(lambda x: (jnp.sin(x) ** 2).mean()), (ROWS,)),
    Case(
        "grad_mm",
        grad(lambda x, w: jnp.tanh(x @ w).sum(), argnums=(0, 1)),
        (
            ROWS,
            WEIGHTS,
        ),
    ),
    Case("grad_slice", grad(lambda x: (x[1:] ** 2).sum()), (((B + 1, 3), F),)),
    Case("grad_max", grad(lambda x: x.max(0).sum()), (ROWS,)),
    Case("grad_cumsum", grad(lambda x: (jnp.cumsum(x) ** 2).sum()), (VECTOR,)),
    Case(
        "grad_gather",
        grad(lambda x, i: (x[i] ** 2).sum()),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("grad_soft", grad(lambda x: nn.logsumexp(x, axis=0).sum()), (ROWS,)),
    Case("grad_pad", grad(lambda x: (jnp.pad(x, ((1, 1), (0, 0))) ** 2).sum()), (ROWS,)),
    Case("grad_concat", grad(lambda x: (jnp.concatenate([x, x]) ** 2).sum()), (VECTOR,)),
    Case("grad_sort", grad(lambda x: (jnp.sort(x) * jnp.arange(x.shape[0])).sum()), (VECTOR,)),
    Case("jvp", lambda x: olympus.jvp(jnp.sin, (x,), (x,)), (ROWS,)),
    Case("grad_prod", grad(lambda x: x.prod()), (VECTOR,)),
    Case("grad_reshape", grad(lambda x: (x.reshape(-1) ** 2).sum()), (ROWS,)),
    Case("grad_roll", grad(lambda x: (jnp.roll(x, 1) * x).sum()), (VECTOR,)),
    Case("vmap", vmap(lambda x: jnp.sin(x).sum()), (ROWS,)),
    Case(
        "vmap_mm",
        lambda x, w: vmap(lambda r: r @ w)(x),
        (
            ROWS,
            WEIGHTS,
        ),
    ),
    Case("vmap_grad", vmap(grad(lambda r: (r**3).sum())), (ROWS,)),
    Case(
        "vmap_idx",
        lambda x, i: vmap(lambda r, k: r[k])(x, i),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case(
        "vmap_dslice",
        lambda x, i: vmap(lambda r, k: lax.dynamic_slice(r, (k,), (2,)))(x, i),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case(
        "vmap_dus",
        lambda x, i: vmap(lambda r, k: lax.dynamic_update_slice(r, jnp.ones(2), (k,)))(x, i),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("scan", lambda x: lax.scan(lambda s, r: (s + r, s * r), jnp.zeros(4), x), (ROWS,)),
    Case(
        "scan_batch",
        lambda x: lax.scan(lambda s, _: (jnp.sin(s), s.sum()), x, None, length=3),
        (ROWS,),
    ),
    Case(
        "scan_len",
        lambda x: lax.scan(
            lambda s, i: (s + i, s), jnp.float32(0), jnp.arange(x.shape[0]).astype(F)
        ),
        (VECTOR,),
    ),
    Case(
        "while",
        lambda x: lax.while_loop(lambda s: s[1] < 3, lambda s: (s[0] * 2, s[1] + 1), (x, 0)),
        (ROWS,),
    ),
    Case("fori", lambda x: lax.fori_loop(0, 3, lambda i, s: s + i, x), (ROWS,)),
    Case(
        "fori_b",
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, s: s + x[i], jnp.zeros(4)),
        (ROWS,),
    ),
    Case("cond", lambda x: lax.cond(x.sum() > 0, lambda y: y + 1, lambda y: y * 2, x), (ROWS,)),
    Case(
        "switch",
        lambda x, i: lax.switch(i[0], [jnp.sin, jnp.cos, lambda y: y], x),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("map", lambda x: lax.map(lambda r: r.sum(), x), (ROWS,)),
    Case(
        "grad_scan",
        grad(lambda x: lax.scan(lambda s, r: (jnp.tanh(s + r), s.sum()), jnp.zeros(4), x)[0].sum()),
        (ROWS,),
    ),
    Case(
        "grad_cond",
        grad(lambda x: lax.cond(x.sum() > 0, lambda y: (y * y).sum(), lambda y: y.sum(), x)),
        (ROWS,),
    ),
    Case("remat", grad(checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), (ROWS,)),
    Case(
        "nested_jit",
        lambda x: jit(lambda y: y * y.shape[0])(x) + jit(lambda y: jnp.sin(y).mean(0))(x),
        (ROWS,),
    ),
    Case(
        "conv",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"),
        (
            IMAGES,
            ((5, 3, 3, 3), F),
        ),
    ),
    Case(
        "conv_valid",
        lambda x, w: lax.conv(x, w, (2, 2), "VALID"),
        (
            IMAGES,
            ((5, 3, 3, 3), F),
        ),
    ),
    Case(
        "grad_conv",
        grad(
            lambda x, w: (lax.conv_general_dilated(x, w, (1, 1), "SAME") ** 2).sum(), argnums=(0, 1)
        ),
        (
            IMAGES,
            ((5, 3, 3, 3), F),
        ),
    ),
    Case(
        "maxpool",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
        (IMAGES,),
    ),
    Case(
        "avgpool",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 1, 1), "SAME"),
        (IMAGES,),
    ),
    Case(
        "grad_maxpool",
        grad(
            lambda x: lax.reduce_window(
                x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
            ).sum()
        ),
        (IMAGES,),
    ),
    Case(
        "conv_spatial",
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID"),
        (
            ((2, 3, B + 4), F),
            ((5, 3, 3), F),
        ),
    ),
    Case(
        "conv_same_sp",
        lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME"),
        (
            ((2, 3, B + 4), F),
            ((5, 3, 3), F),
        ),
    ),
    Case("eye", lambda x: jnp.eye(x.shape[0]) * x, (VECTOR,)),
    Case("tri", lambda x: jnp.tril(x), (SQUARE,)),
    Case("triu", lambda x: jnp.triu(x), (BOTH,)),
    Case("diag", lambda x: jnp.diag(x), (VECTOR,)),
    Case("diagonal", lambda x: jnp.diagonal(x), (SQUARE,)),
    Case("trace", lambda x: jnp.trace(x), (SQUARE,)),
    Case("linspace", lambda x: jnp.linspace(0.0, 1.0, 5) + x[:, None], (VECTOR,)),
    Case(
        "meshgrid",
        lambda x, y: jnp.meshgrid(x, y),
        (
            VECTOR,
            ((C,), F),
        ),
    ),
    Case(
        "searchsorted",
        lambda x, y: jnp.searchsorted(jnp.sort(x), y),
        (
            ((7,), F),
            VECTOR,
        ),
    ),
    Case("histogram", lambda x: jnp.histogram(x, bins=4, range=(-1, 1))[0], (VECTOR,)),
    Case("bincount", lambda i: jnp.bincount(i, length=4), (INDICES,)),
    Case("cov", lambda x: jnp.cov(x.T), (((B + 1, 4), F),)),
    Case("norm", lambda x: jnp.linalg.norm(x, axis=1), (ROWS,)),
    Case("norma", lambda x: jnp.linalg.norm(x), (ROWS,)),
    Case("average", lambda x: jnp.average(x, axis=0), (ROWS,)),
    Case("nanmean", lambda x: jnp.nanmean(x, 0), (ROWS,)),
    Case("ptp", lambda x: jnp.ptp(x, 0), (ROWS,)),
    Case("diff", lambda x: jnp.diff(x), (((B + 1,), F),)),
    Case("convolve", lambda x: jnp.convolve(x, jnp.ones(3), mode="same"), (((B + 3,), F),)),
    Case("interp", lambda x: jnp.interp(x, jnp.arange(4.0), jnp.arange(4.0) ** 2), (VECTOR,)),
    Case("cross", lambda x: jnp.cross(x, x + 1), (((B, 3), F),)),
    Case("kron", lambda x: jnp.kron(x, jnp.ones(2)), (VECTOR,)),
    Case("polyval", lambda x: jnp.polyval(jnp.arange(3.0), x), (VECTOR,)),
    Case("nonzero", lambda x: jnp.nonzero(x > 0, size=2, fill_value=0), (VECTOR,)),
    Case("unique", lambda i: jnp.unique(i, size=3, fill_value=0), (INDICES,)),
    Case("quantile", lambda x: jnp.quantile(x, 0.3, axis=1), (ROWS,)),
    Case("quantile0", lambda x: jnp.quantile(x, 0.3, axis=0), (ROWS,)),
    Case("median0", lambda x: jnp.median(x, 0), (ROWS,)),
    Case("percentile", lambda x: jnp.percentile(x, 30), (VECTOR,)),
    Case(
        "cholesky",
        lambda x: jnp.linalg.cholesky(x @ x.transpose(0, 2, 1) + 4 * jnp.eye(4)),
        (MATRICES,),
    ),
    Case(
        "solve",
        lambda x, y: jnp.linalg.solve(x @ x.transpose(0, 2, 1) + 4 * jnp.eye(4), y),
        (
            MATRICES,
            ((B, 4, 2), F),
        ),
    ),
    Case("inv", lambda x: jnp.linalg.inv(x @ x.transpose(0, 2, 1) + 4 * jnp.eye(4)), (MATRICES,)),
    Case("qr", lambda x: jnp.abs(jnp.linalg.qr(x)[1]), (MATRICES,)),
    Case("svd", lambda x: jnp.linalg.svd(x, compute_uv=False), (MATRICES,)),
    Case("eigh", lambda x: jnp.linalg.eigh(x + x.transpose(0, 2, 1))[0], (MATRICES,)),
    Case("det", lambda x: jnp.linalg.det(x), (MATRICES,)),
    Case("fft", lambda x: jnp.abs(jnp.fft.fft(x)), (ROWS,)),
    Case("random_normal", lambda x: random.normal(random.key(0), x.shape), (ROWS,)),
    Case("random_uniform", lambda x: random.uniform(random.key(0), (x.shape[0], 3)), (ROWS,)),
    Case("bernoulli", lambda x: random.bernoulli(random.key(0), 0.5, x.shape), (ROWS,)),
    Case("randint", lambda x: random.randint(random.key(0), x.shape, 0, 10), (ROWS,)),
    Case("categorical", lambda x: random.categorical(random.key(0), x), (ROWS,)),
    Case("permutation", lambda x: jnp.sort(random.permutation(random.key(0), x)), (VECTOR,)),
    Case("split_2", lambda x: random.split(random.PRNGKey(0), x.shape[0]), (VECTOR,)),
    Case(
        "foldin",
        lambda i: vmap(lambda k: random.normal(random.fold_in(random.key(0), k)))(i),
        (INDICES,),
    ),
    Case("gumbel", lambda x: random.gumbel(random.key(0), x.shape), (ROWS,)),
    Case(
        "dropout",
        lambda x: jnp.where(random.bernoulli(random.key(1), 0.9, x.shape), x / 0.9, 0),
        (ROWS,),
    ),
    Case("exponential", lambda x: random.exponential(random.key(0), x.shape), (ROWS,)),
    Case("gamma", lambda x: random.gamma(random.key(0), 2.0, x.shape), (VECTOR,)),
    Case(
        "attn",
        attn,
        (
            ATT,
            ATT,
            ATT,
        ),
    ),
    Case("dpa", lambda q: nn.dot_product_attention(q, q, q, is_causal=True), (ATT,)),
    Case("grad_attn", grad(lambda q: attn(q, q, q).sum()), (ATT,)),
    Case(
        "mlp",
        mlp,
        (
            ROWS,
            WEIGHTS,
            ((6, 3), F),
        ),
    ),
    Case(
        "ln",
        lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
        (BOTH,),
    ),
    Case(
        "bn",
        lambda x: (
            (x - x.mean((0, 2, 3), keepdims=True))
            / jnp.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
        ),
        (IMAGES,),
    ),
    Case(
        "repeat_total",
        lambda x, i: jnp.repeat(x, i, total_repeat_length=5),
        (
            VECTOR,
            INDICES,
        ),
    ),
    Case(
        "segment_sum",
        lambda x, i: olympus.ops.segment_sum(x, i, num_segments=3),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("resize", lambda x: jnp.broadcast_to(x[:, None], (x.shape[0], 3, 4)), (ROWS,)),
    Case("iota2", lambda x: lax.broadcasted_iota(INT, (x.shape[0], 3), 0), (ROWS,)),
    Case("argpart", lambda x: jnp.sort(jnp.partition(x, 2, axis=1)), (ROWS,)),
    Case("dslice", lambda x: lax.dynamic_slice(x, (1, 0), (x.shape[0], 2)), (((B + 2, 4), F),)),
    Case("dslice_in", lambda x: lax.dynamic_slice_in_dim(x, 1, 2, 0), (((B + 2, 4), F),)),
    Case(
        "dus",
        lambda x, y: lax.dynamic_update_slice(x, y, (1, 0)),
        (
            ((B + 2, 4), F),
            ((B, 4), F),
        ),
    ),
    Case(
        "dindex",
        lambda x, i: lax.dynamic_index_in_dim(x, i[0], 0),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("mask", lambda x: jnp.where(jnp.arange(x.shape[0])[:, None] < 2, x, 0), (ROWS,)),
    Case("bool_idx", lambda x: jnp.where(x > 0, size=2), (VECTOR,)),
    Case("ceildiv", lambda x: jnp.zeros(((x.shape[0] + 1) // 2,)), (VECTOR,)),
    Case("maxdim", lambda x: jnp.zeros((max(x.shape[0], 1) + 1,)), (VECTOR,)),
    Case("lt", lambda x: x if x.shape[0] >= 1 else -x, (VECTOR,)),
    Case("floor_arr", lambda x: x // x.shape[0], (VECTOR,)),
    Case("powdim", lambda x: x ** x.shape[0], (VECTOR,)),
    Case("dimmod", lambda x: jnp.arange(x.shape[0]) % x.shape[0], (VECTOR,)),
    Case("sizeval", lambda x: x.sum() / x.size, (BOTH,)),
    Case("vander", lambda x: jnp.vander(x, 3), (VECTOR,)),
    Case("insert", lambda x: jnp.append(x, 1.0), (VECTOR,)),
    Case("block", lambda x: jnp.block([x, x]), (ROWS,)),
    Case("hstack", lambda x: jnp.hstack([x, x]), (ROWS,)),
    Case("dstack", lambda x: jnp.dstack([x, x]), (ROWS,)),
    Case("rot90", lambda x: jnp.rot90(x), (ROWS,)),
    Case("digitize", lambda x: jnp.digitize(x, jnp.arange(3.0)), (VECTOR,)),
    Case("nancumsum", lambda x: jnp.nancumsum(x), (VECTOR,)),
    Case(
        "matvec",
        lambda x, y: x @ y,
        (
            ROWS,
            ((4,), F),
        ),
    ),
    Case(
        "embed",
        lambda i, w: w[i],
        (
            ((B, C), INT),
            ((10, 4), F),
        ),
    ),
    Case(
        "xent",
        lambda x, i: -jnp.take_along_axis(nn.log_softmax(x), i[:, None], axis=1).mean(),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case(
        "grad_xent",
        grad(lambda x, i: -jnp.take_along_axis(nn.log_softmax(x), i[:, None], axis=1).mean()),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case(
        "grad_embed",
        grad(lambda w, i: w[i].sum()),
        (
            ((10, 4), F),
            ((B, C), INT),
        ),
    ),
    Case("more_bcast_to", lambda x: jnp.broadcast_to(x, [x.shape[0], x.shape[0], 4]), (ROWS,)),
    Case("more_array_of_shape", lambda x: jnp.array([x.shape[0], 3]) + 1, (ROWS,)),
    Case("more_array_shape_tuple", lambda x: jnp.array(x.shape), (BOTH,)),
    Case("more_stack_dims", lambda x: jnp.stack([jnp.array(x.shape[0]), jnp.array(2)]), (ROWS,)),
    Case("more_asarray_f", lambda x: jnp.asarray(x.shape[0], dtype=F) * x, (VECTOR,)),
    Case("more_array_nested", lambda x: jnp.array([[1, x.shape[0]], [2.0, 3]]), (VECTOR,)),
    Case("more_float_dim", lambda x: x.shape[0] * 2.5 * x, (VECTOR,)),
    Case("more_dim_div", lambda x: x.shape[0] / 2 * x, (VECTOR,)),
    Case("more_np_times", lambda x: np.float32(2) * x.shape[0] * x, (VECTOR,)),
    Case("more_nparr", lambda x: np.arange(3) * x.shape[0] + x[0], (VECTOR,)),
    Case("more_sqrtdim", lambda x: x / jnp.sqrt(x.shape[0]), (VECTOR,)),
    Case("more_where_dim", lambda x: jnp.where(x > 0, x.shape[0], x.size), (ROWS,)),
    Case("more_sumdim", lambda x: jnp.sum(x) / x.shape[0] + jnp.mod(x.shape[0], 3), (VECTOR,)),
    Case("more_maximumdim", lambda x: jnp.maximum(x, x.shape[0]), (VECTOR,)),
    Case("more_fullb", lambda x: jnp.full((x.shape[0], 2), x.shape[0] + 1), (VECTOR,)),
    Case("more_lt_arr", lambda x: jnp.arange(x.shape[0]) < x.shape[0] - 1, (VECTOR,)),
    Case("more_rem", lambda x: lax.rem(jnp.arange(x.shape[0]), jnp.int32(2)), (VECTOR,)),
    Case("more_repeatb", lambda x: jnp.repeat(x, x.shape[0]), (VECTOR,)),
    Case("more_repeat_ax", lambda x: jnp.repeat(x, x.shape[0], axis=1), (ROWS,)),
    Case("more_tileb", lambda x: jnp.tile(x, (x.shape[0], 2)), (ROWS,)),
    Case("more_eyeM", lambda x: jnp.eye(x.shape[0], x.shape[0] + 2), (VECTOR,)),
    Case("more_eyek", lambda x: jnp.eye(x.shape[0], k=1), (VECTOR,)),
    Case("more_trib", lambda x: jnp.tri(x.shape[0], x.shape[0] + 1), (VECTOR,)),
    Case("more_linspaceb", lambda x: jnp.linspace(0.0, 1.0, x.shape[0]), (VECTOR,)),
    Case("more_arange2", lambda x: jnp.arange(1, x.shape[0] + 1, 2), (VECTOR,)),
    Case("more_arange_neg", lambda x: jnp.arange(x.shape[0], 0, -1), (VECTOR,)),
    Case("more_arange_f", lambda x: jnp.arange(x.shape[0], dtype=F), (VECTOR,)),
    Case("more_geomspace", lambda x: jnp.logspace(0.0, 1.0, x.shape[0]), (VECTOR,)),
    Case("more_indices", lambda x: jnp.indices((x.shape[0], 2)), (VECTOR,)),
    Case("more_onehotb", lambda i: nn.one_hot(i, i.shape[0]), (INDICES,)),
    Case("more_identity", lambda x: jnp.identity(x.shape[0]), (VECTOR,)),
    Case("more_ogrid", lambda x: jnp.diag(x, k=1), (VECTOR,)),
    Case("more_insert", lambda x: jnp.insert(x, 1, 9.0), (((B + 1,), F),)),
    Case("more_append", lambda x: jnp.append(x, x), (ROWS,)),
    Case("more_nan2num", lambda x: jnp.nan_to_num(x), (ROWS,)),
    Case("more_round", lambda x: jnp.round(x, 1), (ROWS,)),
    Case("more_select_list", lambda x: jnp.select([x > 1, x > 0], [x, x * 2], 0.0), (ROWS,)),
    Case("more_clipdim", lambda x: jnp.clip(x, 0, x.shape[0]), (VECTOR,)),
    Case("more_cumsum_rev", lambda x: lax.cumsum(x, 0, reverse=True), (ROWS,)),
    Case("more_grad_cummax", grad(lambda x: lax.cummax(x, 0).sum()), (VECTOR,)),
    Case("more_topkb", lambda x: lax.top_k(x, x.shape[-1] - 1), (((2, B + 1), F),)),
    Case("more_topkb2", lambda x: lax.top_k(x, x.shape[-1]), (((2, B), F),)),
    Case("more_approx", lambda x: lax.approx_max_k(x, 2)[0], (ROWS,)),
    Case(
        "more_take_clip",
        lambda x, i: jnp.take(x, i, axis=0, mode="clip"),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case(
        "more_take_fill",
        lambda x, i: jnp.take(x, i, axis=0, mode="fill"),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case(
        "more_take_wrap",
        lambda x, i: jnp.take(x, i, axis=0, mode="wrap"),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("more_take1", lambda x: jnp.take(x, jnp.array([0, 2]), axis=1), (ROWS,)),
    Case(
        "more_at_mul",
        lambda x, i: x.at[i].mul(2.0),
        (
            VECTOR,
            INDICES,
        ),
    ),
    Case(
        "more_at_max",
        lambda x, i: x.at[i].max(0.0),
        (
            VECTOR,
            INDICES,
        ),
    ),
    Case(
        "more_at_get",
        lambda x, i: x.at[i].get(mode="fill", fill_value=0),
        (
            VECTOR,
            INDICES,
        ),
    ),
    Case(
        "more_at2d",
        lambda x, i: x.at[i, 0].set(1.0),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("more_at_last", lambda x: x.at[-1].set(7.0), (ROWS,)),
    Case("more_at_ell", lambda x: x.at[..., 0].add(1.0), (MATRICES,)),
    Case("more_ix", lambda x: x[jnp.arange(x.shape[0]), jnp.arange(x.shape[0])], (SQUARE,)),
    Case(
        "more_ix2",
        lambda x, i: x[jnp.arange(x.shape[0]), i],
        (
            ROWS,
            INDICES,
        ),
    ),
    Case("more_newax", lambda x: x[:, None, ..., None], (ROWS,)),
    Case("more_slc_b", lambda x: x[: x.shape[0] // 2 + 1], (VECTOR,)),
    Case("more_slc_mid", lambda x: x[x.shape[0] // 2 :], (VECTOR,)),
    Case("more_slc_neg_step", lambda x: x[::-2], (VECTOR,)),
    Case("more_slc2", lambda x: x[1:-1, ::2], (((B + 2, 4), F),)),
    Case("more_grad_slc", grad(lambda x: (x[::2] ** 2).sum()), (VECTOR,)),
    Case("more_grad_slc_neg", grad(lambda x: (x[::-2] ** 2).sum()), (VECTOR,)),
    Case("more_idx_dim", lambda x: x[x.shape[0] - 1], (VECTOR,)),
    Case("more_dyn_idx", lambda x: lax.dynamic_index_in_dim(x, x.shape[0] - 1), (ROWS,)),
    Case("more_split_dims", lambda x: jnp.split(x, [x.shape[0] // 2], axis=0), (((B + 1, 3), F),)),
    Case("more_arrsplit", lambda x: jnp.array_split(x, 2, axis=1), (ROWS,)),
    Case("more_lax_split", lambda x: lax.split(x, (1, x.shape[0] - 1)), (((B + 1, 3), F),)),
    Case("more_unstack", lambda x: jnp.unstack(x, axis=1), (ROWS,)),
    Case("more_hsplit", lambda x: jnp.hsplit(x, 2), (ROWS,)),
    Case("more_moveaxis", lambda x: jnp.rollaxis(x, 1), (BOTH,)),
    Case("more_atleast", lambda x: jnp.atleast_3d(x), (ROWS,)),
    Case("more_resh_T", lambda x: x.reshape(x.shape[0] * 2, 2), (ROWS,)),
    Case("more_resh_mul", lambda x: x.reshape((x.shape[0], 2, 2)), (ROWS,)),
    Case("more_resh_bc", lambda x: x.reshape(-1, x.shape[0]), (BOTH,)),
    Case("more_resh_F", lambda x: x.reshape(-1, order="F"), (ROWS,)),
    Case("more_resh_4", lambda x: x.reshape(2, -1), (((4 * B,), F),)),
    Case("more_wrapmode", lambda x: jnp.pad(x, (1, 1), mode="wrap"), (VECTOR,)),
    Case("more_reflect", lambda x: jnp.pad(x, (1, 1), mode="reflect"), (((B + 2,), F),)),
    Case("more_pad_dim", lambda x: jnp.pad(x, (0, x.shape[0])), (VECTOR,)),
    Case("more_laxpad", lambda x: lax.pad(x, 0.0, ((1, -1, 1), (0, 0, 0))), (((B + 1, 4), F),)),
    Case("more_rolldim", lambda x: jnp.roll(x, x.shape[0] // 2), (VECTOR,)),
    Case(
        "more_roll_dyn",
        lambda x, i: jnp.roll(x, i[0]),
        (
            VECTOR,
            INDICES,
        ),
    ),
    Case("more_roll2", lambda x: jnp.roll(x, (1, 2), (0, 1)), (BOTH,)),
    Case("more_fliplr", jnp.fliplr, (BOTH,)),
    Case("more_trilk", lambda x: jnp.tril(x, -1), (MATRICES,)),
    Case(
        "more_dot_general",
        lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))),
        (
            MATRICES,
            MATRICES,
        ),
    ),
    Case(
        "more_inner",
        lambda x, y: jnp.inner(x, y),
        (
            ROWS,
            ((C, 4), F),
        ),
    ),
    Case("more_mm_b", lambda x: x @ x, (SQUARE,)),
    Case(
        "more_mmvec",
        lambda x, y: x @ y,
        (
            SQUARE,
            VECTOR,
        ),
    ),
    Case("more_ein_diag", lambda x: jnp.einsum("ii->i", x), (SQUARE,)),
    Case("more_ein_tr", lambda x: jnp.einsum("ij->ji", x), (BOTH,)),
    Case(
        "more_ein4",
        lambda x, y, z: jnp.einsum("ab,bc,cd->ad", x, y, z),
        (
            ROWS,
            WEIGHTS,
            ((6, B), F),
        ),
    ),
    Case(
        "more_ein_ell",
        lambda x, y: jnp.einsum("...ij,...jk->...ik", x, y),
        (
            MATRICES,
            MATRICES,
        ),
    ),
    Case("more_vecdot", lambda x: jnp.linalg.vecdot(x, x), (ROWS,)),
    Case("more_matpow", lambda x: jnp.linalg.matrix_power(x, 3), (MATRICES,)),
    Case("more_lstsq", lambda x: jnp.linalg.pinv(x), (MATRICES,)),
    Case(
        "more_slogdet",
        lambda x: jnp.linalg.slogdet(x @ x.transpose(0, 2, 1) + jnp.eye(4))[1],
        (MATRICES,),
    ),
    Case(
        "more_trisolve",
        lambda x, y: lax.linalg.triangular_solve(x + 4 * jnp.eye(4), y, left_side=True, lower=True),
        (
            MATRICES,
            ((B, 4, 2), F),
        ),
    ),
    Case("more_expm", lambda x: olympus.scipy.linalg.expm(0.1 * x), (MATRICES,)),
    Case("more_lu", lambda x: lax.linalg.lu(x)[0], (MATRICES,)),
    Case("more_eig", lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))), (MATRICES,)),
    Case("more_eighb", lambda x: jnp.linalg.eigh(x @ x.T)[0], (SQUARE,)),
    Case(
        "more_cholb",
        lambda x: jnp.linalg.cholesky(x @ x.T + x.shape[0] * jnp.eye(x.shape[0])),
        (SQUARE,),
    ),
    Case("more_qrb", lambda x: jnp.abs(jnp.linalg.qr(x)[1]), (((B + 1, B), F),)),
    Case("more_svdb", lambda x: jnp.linalg.svd(x, compute_uv=False), (BOTH,)),
    Case(
        "more_solveb",
        lambda x, y: jnp.linalg.solve(x + 5 * jnp.eye(x.shape[0]), y),
        (
            SQUARE,
            VECTOR,
        ),
    ),
    Case("more_detb", lambda x: jnp.linalg.det(x), (SQUARE,)),
    Case("more_invb", lambda x: jnp.linalg.inv(x + 5 * jnp.eye(x.shape[0])), (SQUARE,)),
    Case("more_fftb", lambda x: jnp.abs(jnp.fft.rfft(x, n=8)), (ROWS,)),
    Case("more_ifft", lambda x: jnp.fft.ifft(jnp.fft.fft(x)).real, (ROWS,)),
    Case(
        "more_grad_chol",
        grad(lambda x: jnp.linalg.cholesky(x @ x.transpose(0, 2, 1) + 4 * jnp.eye(4)).sum()),
        (MATRICES,),
    ),
    Case(
        "more_grad_eigh",
        grad(lambda x: jnp.linalg.eigh(x @ x.transpose(0, 2, 1))[0].sum()),
        (MATRICES,),
    ),
    Case(
        "more_conv_batch_c",
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        (
            IMAGES,
            ((C, 3, 3, 3), F),
        ),
    ),
    Case(
        "more_conv_dil",
        lambda x, w: lax.conv_general_dilated(x, w, (1,), [(1, 2)], rhs_dilation=(2,)),
        (
            ((2, 3, B + 5), F),
            ((5, 3, 3), F),
        ),
    ),
    Case(
        "more_conv_tr",
        lambda x, w: lax.conv_transpose(
            x, w, (2,), "SAME", dimension_numbers=("NCH", "OIH", "NCH")
        ),
        (
            ((2, 3, B + 1), F),
            ((5, 3, 3), F),
        ),
    ),
    Case(
        "more_grad_conv_sp",
        grad(
            lambda x, w: (lax.conv_general_dilated(x, w, (2,), "SAME") ** 2).sum(), argnums=(0, 1)
        ),
        (
            ((2, 3, B + 4), F),
            ((5, 3, 3), F),
        ),
    ),
    Case(
        "more_depthwise",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=3),
        (
            IMAGES,
            ((6, 1, 3, 3), F),
        ),
    ),
    Case(
        "more_conv_patches",
        lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID"),
        (IMAGES,),
    ),
    Case(
        "more_rw_b",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (3,), (2,), "SAME"),
        (((B + 3,), F),),
    ),
    Case(
        "more_rw_max_b",
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "VALID"),
        (((B + 3,), F),),
    ),
    Case(
        "more_grad_avgpool",
        grad(
            lambda x: (
                lax.reduce_window(x, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 1, 1), "SAME") ** 2
            ).sum()
        ),
        (IMAGES,),
    ),
    Case(
        "more_rw_full",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (x.shape[0],), (1,), "VALID"),
        (VECTOR,),
    ),
    Case("more_choice", lambda x: random.choice(random.key(0), x, (3,)), (VECTOR,)),
    Case("more_choice2", lambda x: random.choice(random.key(0), 4, (x.shape[0],)), (VECTOR,)),
    Case("more_bits", lambda x: random.bits(random.key(0), x.shape), (ROWS,)),
    Case(
        "more_trunc", lambda x: random.truncated_normal(random.key(0), -1.0, 1.0, x.shape), (ROWS,)
    ),
    Case("more_laplace", lambda x: random.laplace(random.key(0), x.shape), (ROWS,)),
    Case("more_poisson", lambda x: random.poisson(random.key(0), 3.0, x.shape), (VECTOR,)),
    Case("more_beta", lambda x: random.beta(random.key(0), 2.0, 3.0, x.shape), (VECTOR,)),
    Case(
        "more_dirichlet", lambda x: random.dirichlet(random.key(0), jnp.ones(3), x.shape), (VECTOR,)
    ),
    Case(
        "more_perm_b", lambda x: jnp.sort(random.permutation(random.key(0), x.shape[0])), (VECTOR,)
    ),
    Case(
        "more_split2",
        lambda x: vmap(lambda k: random.uniform(k))(random.split(random.key(0), x.shape[0])),
        (VECTOR,),
    ),
    Case("more_rademacher", lambda x: random.rademacher(random.key(0), x.shape), (VECTOR,)),
    Case("more_bits64", lambda x: random.bits(random.key(0), x.shape, "uint16"), (VECTOR,)),
    Case(
        "more_vmap2",
        lambda x, y: vmap(lambda a: vmap(lambda d: a * d)(y))(x),
        (
            VECTOR,
            ((C,), F),
        ),
    ),
    Case(
        "more_vmap_scan",
        lambda x: vmap(lambda r: lax.scan(lambda s, v: (s + v, s), 0.0, r)[1])(x),
        (ROWS,),
    ),
    Case(
        "more_vmap_cond",
        lambda x: vmap(lambda r: lax.cond(r.sum() > 0, jnp.sin, jnp.cos, r))(x),
        (ROWS,),
    ),
    Case(
        "more_vmap_while",
        lambda x: vmap(lambda v: lax.while_loop(lambda s: s < 3, lambda s: s + 1.5, v))(x),
        (VECTOR,),
    ),
    Case("more_vmap_sort", lambda x: vmap(jnp.sort)(x), (ROWS,)),
    Case(
        "more_vmap_at",
        lambda x, i: vmap(lambda r, k: r.at[k].set(0.0))(x, i),
        (
            ROWS,
            INDICES,
        ),
    ),
    Case(
        "more_vmap_conv",
        lambda x, w: vmap(lambda a: jnp.convolve(a, w, mode="same"))(x),
        (
            ROWS,
            ((3,), F),
        ),
    ),
    Case("more_jacfwd", lambda x: olympus.jacfwd(lambda y: jnp.sin(y) * 2)(x), (((3,), F),)),
    Case("more_vjp_", lambda x: olympus.vjp(jnp.sin, x)[1](x)[0], (ROWS,)),
    Case("more_lin", lambda x: olympus.linearize(jnp.sin, x)[1](x), (ROWS,)),
    Case("more_cjvp", lambda x: nn.relu(x) * nn.sigmoid(x), (ROWS,)),
    Case(
        "more_scan_rev",
        lambda x: lax.scan(lambda s, r: (s + r, s), jnp.zeros(4), x, reverse=True)[1],
        (ROWS,),
    ),
    Case(
        "more_scan_len_kw",
        lambda x: lax.scan(lambda s, _: (s * 1.1, s), jnp.float32(1), None, length=x.shape[0])[1],
        (VECTOR,),
    ),
    Case(
        "more_fori_grad",
        grad(lambda x: lax.fori_loop(0, 3, lambda i, s: s * jnp.sin(s), x).sum()),
        (VECTOR,),
    ),
    Case("more_map_batch", lambda x: lax.map(lambda r: r * 2, x), (ROWS,)),
    Case(
        "more_while_b",
        lambda x: lax.while_loop(
            lambda s: s[0] < x.shape[0], lambda s: (s[0] + 1, s[1] + s[0]), (0, 0)
        )[1],
        (VECTOR,),
    ),
    Case("more_quant_ax", lambda x: jnp.nanquantile(x, 0.5, axis=0), (ROWS,)),
    Case("more_nanmed", lambda x: jnp.nanmedian(x), (VECTOR,)),
    Case("more_corr", lambda x: jnp.corrcoef(x.T), (((B + 2, 3), F),)),
    Case("more_hist2", lambda x: jnp.histogram(x, 3)[0], (VECTOR,)),
    Case("more_digit", lambda x: jnp.searchsorted(jnp.arange(x.shape[0]).astype(F), x), (VECTOR,)),
    Case(
        "more_ss_sort",
        lambda x, y: jnp.searchsorted(jnp.sort(x), y, side="right"),
        (
            VECTOR,
            ((3,), F),
        ),
    ),
    Case(
        "more_ss_scan",
        lambda x, y: jnp.searchsorted(jnp.sort(x), y, method="sort"),
        (
            VECTOR,
            ((3,), F),
        ),
    ),
    Case(
        "more_ss_cmp",
        lambda x, y: jnp.searchsorted(jnp.sort(x), y, method="compare_all"),
        (
            VECTOR,
            ((3,), F),
        ),
    ),
    Case("more_isin", lambda i: jnp.isin(i, jnp.array([1, 2])), (INDICES,)),
    Case(
        "more_in1b",
        lambda i, j: jnp.isin(i, j),
        (
            INDICES,
            ((C,), INT),
        ),
    ),
    Case("more_uniq_inv", lambda i: jnp.unique(i, size=i.shape[0], fill_value=0), (INDICES,)),
    Case("more_nonz", lambda x: jnp.nonzero(x > 0, size=x.shape[0], fill_value=0)[0], (VECTOR,)),
    Case("more_argwhere", lambda x: jnp.argwhere(x > 0, size=2, fill_value=0), (ROWS,)),
    Case(
        "more_lexsort",
        lambda x, y: jnp.lexsort((x, y)),
        (
            VECTOR,
            VECTOR,
        ),
    ),
    Case(
        "more_sort2",
        lambda x, i: lax.sort((x, i), num_keys=1)[0],
        (
            VECTOR,
            INDICES,
        ),
    ),
    Case("more_partition", lambda x: jnp.sort(jnp.argpartition(x, 1, axis=1)), (ROWS,)),
    Case("more_cov1", lambda x: jnp.cov(x, x), (((B + 1,), F),)),
    Case("more_trapz", lambda x: jnp.trapezoid(x), (((B + 1,), F),)),
    Case("more_gradnt", lambda x: jnp.gradient(x), (((B + 2,), F),)),
    Case("more_ediff", lambda x: jnp.ediff1d(x), (((B + 1,), F),)),
    Case("more_unwrap", lambda x: jnp.unwrap(x), (((B + 1,), F),)),
    Case("more_correlate", lambda x: jnp.correlate(x, jnp.ones(2), mode="full"), (((B + 3,), F),)),
    Case("more_apply_ax", lambda x: jnp.apply_along_axis(jnp.sum, 1, x), (ROWS,)),
    Case("more_vectorize", lambda x: jnp.vectorize(lambda a: a + 1)(x), (ROWS,)),
    Case("more_count_nz", lambda x: jnp.count_nonzero(x > 0, axis=0), (ROWS,)),
    Case("more_allclose", lambda x: jnp.allclose(x, x), (ROWS,)),
    Case("more_arreq", lambda x: jnp.array_equal(x, x), (ROWS,)),
    Case("more_logsumexp_w", lambda x: nn.logsumexp(x, axis=0, b=jnp.ones(4)), (ROWS,)),
    Case("more_erf", lambda x: olympus.scipy.special.erf(x), (ROWS,)),
    Case("more_gammaln", lambda x: olympus.scipy.special.gammaln(jnp.abs(x) + 1), (ROWS,)),
    Case("more_norm_pdf", lambda x: olympus.scipy.stats.norm.logpdf(x), (ROWS,)),
    Case(
        "more_seg_max",
        lambda x, i: olympus.ops.segment_max(x, i, num_segments=4),
        (
            VECTOR,
            INDICES,
        ),
    ),
    Case(
        "more_seg_b",
        lambda x, i: olympus.ops.segment_sum(x, i, num_segments=x.shape[0]),
        (
            VECTOR,
            INDICES,
        ),
    ),
    Case("more_bincount_b", lambda i: jnp.bincount(i, length=i.shape[0]), (INDICES,)),
    Case("more_nn_std", lambda x: nn.standardize(x, axis=0), (ROWS,)),
    Case("more_softplus", nn.softplus, (ROWS,)),
    Case("more_celu", nn.celu, (ROWS,)),
    Case("more_mish", lambda x: nn.swish(x), (ROWS,)),
    Case("more_ravelmi", lambda i: jnp.ravel_multi_index((i, i), (3, 3), mode="clip"), (INDICES,)),
    Case("more_unravel", lambda i: jnp.unravel_index(i, (i.shape[0], 4)), (INDICES,)),
    Case("more_squeeze_ax", lambda x: jnp.squeeze(x, axis=1), (((B, 1, 3), F),)),
    Case("more_bartlett", lambda x: x * jnp.hanning(4), (ROWS,)),
    Case("more_bitops", lambda i: (i & 1) | (i << 2), (INDICES,)),
    Case("more_cplx", lambda x: (x + 1j * x).imag, (ROWS,)),
    Case("more_view", lambda x: lax.bitcast_convert_type(x, INT), (ROWS,)),
    Case("more_reduce", lambda x: lax.reduce(x, 0.0, lax.add, (0,)), (ROWS,)),
    Case("more_reduce_prec", lambda x: lax.reduce_precision(x, 5, 10), (ROWS,)),
    Case("more_stopg", grad(lambda x: (lax.stop_gradient(x) * x).sum()), (ROWS,)),
    Case("more_clamp", lambda x: lax.clamp(0.0, x, 1.0), (ROWS,)),
    Case("more_expit", lambda x: lax.logistic(x), (ROWS,)),
    Case("more_igamma", lambda x: lax.igamma(jnp.abs(x) + 1, jnp.abs(x)), (ROWS,)),
    Case("more_optbar", lambda x: lax.optimization_barrier(x), (ROWS,)),
    Case(
        "more_remat2",
        grad(lambda x: olympus.checkpoint(lambda y: jnp.sin(y @ jnp.ones((4, 4))).sum())(x)),
        (ROWS,),
    ),
    Case("jacrev", lambda x: olympus.jacrev(jnp.sin)(x), (VECTOR,)),
    Case("jacfwd", lambda x, y: olympus.jacfwd(lambda a: jnp.outer(a, y[0]))(x), (VECTOR, ROWS)),
    Case("hessian", lambda x: olympus.hessian(lambda y: (y**3).sum())(x), (VECTOR,)),
    Case(
        "jacrev_of_two",
        lambda *p: olympus.jacrev(lambda q: q[0].sum() * q[1])(p),
        (VECTOR, ROWS),
    ),
    Case("delete", lambda x: jnp.delete(x, 0), (((B + 1,), F),)),
    Case("std_ddof", lambda x: x.std(0, ddof=1), (((B + 1, 4), F),)),
    Case("std_of_maybe_one", lambda x: jnp.nan_to_num(x.std(0, ddof=1)), (ROWS,)),
    Case(
        "repeat_total",
        lambda x: jnp.repeat(x, np.array([1, 2, 0, 1]), axis=1, total_repeat_length=x.shape[0]),
        (ROWS,),
    ),
    Case(
        "pool_same",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 1), (2, 1), "SAME"),
        (ROWS,),
    ),
    Case(
        "grad_pool_b",
        grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 1), (2, 1), "VALID").sum()),
        (((2 * B, 4), F),),
    ),
    Case("fftfreq", lambda x: x * jnp.fft.fftfreq(x.shape[0]), (VECTOR,)),
    Case("rfftfreq", lambda x: jnp.fft.rfftfreq(x.shape[0], 0.5), (VECTOR,)),
    Case("fft_b", lambda x: jnp.fft.fft(x, axis=0), (ROWS,)),
    Case("ifft_b", lambda x: jnp.fft.ifft(x, axis=0, norm="ortho"), (ROWS,)),
    Case("rfft_b", lambda x: jnp.fft.rfft(x, axis=0), (ROWS,)),
    Case("irfft_b", lambda x: jnp.fft.irfft(x, axis=0, norm="forward"), (((B + 1, 4), F),)),
    Case("irfft_odd", lambda x: jnp.fft.irfft(x, n=2 * x.shape[0] + 1), (VECTOR,)),
    Case("fft_longer", lambda x: jnp.fft.fft(x, n=x.shape[0] + 2), (VECTOR,)),
    Case("rfftn_b", lambda x: jnp.fft.rfftn(x), (BOTH,)),
    Case("irfftn_b", lambda x: jnp.fft.irfftn(x), (((B, C + 1), F),)),
    Case("grad_fft", grad(lambda x: jnp.abs(jnp.fft.rfft(x) + 2).sum()), (VECTOR,)),
    Case("dct_b", lambda x: olympus.scipy.fft.dct(x), (VECTOR,)),
    Case("idct_b", lambda x: olympus.scipy.fft.idct(x, norm="ortho"), (VECTOR,)),
    Case("fftconvolve", lambda x: olympus.scipy.signal.fftconvolve(x, x), (VECTOR,)),
    Case(
        "resize_rows",
        lambda x: olympus.image.resize(x, (x.shape[0], 2, 5), "bilinear"),
        (((B, 3, 3), F),),
    ),
    Case("resize_b", lambda x: olympus.image.resize(x, (2 * x.shape[0], 3), "cubic"), (ROWS,)),
    Case("resize_near", lambda x: olympus.image.resize(x, (3 * x.shape[0], 2), "nearest"), (ROWS,)),
    Case("bits", lambda x: lax.rng_bit_generator(jnp.arange(4, dtype="uint32"), x.shape), (BOTH,)),
    Case("isin_b", lambda i: jnp.isin(jnp.arange(5), i), (INDICES,)),
    Case("tril_b", lambda x: jnp.tril_indices(x.shape[0], 1), (VECTOR,)),
    Case("triu_bc", lambda x: jnp.triu_indices_from(x, -1), (BOTH,)),
    Case("searchsorted_b", lambda x, y: jnp.searchsorted(jnp.sort(x), y), (VECTOR, VECTOR)),
    Case("digitize_b", lambda x, y: jnp.digitize(x, -jnp.sort(y)), (VECTOR, VECTOR)),
    Case("interp_b", lambda x, y: jnp.interp(x, jnp.arange(y.shape[0]), y), (VECTOR, VECTOR)),
    Case("scan_unroll", lambda x: lax.scan(lambda s, r: (s + r, s), 0.0, x, unroll=4), (VECTOR,)),
    Case("polyval_b", lambda x: jnp.polyval(x, 0.5), (VECTOR,)),
    Case("poly_b", lambda x: jnp.poly(x), (VECTOR,)),
    Case("polyder_b", lambda x: jnp.polyder(x, 2), (((B + 2,), F),)),
    Case("polydiv_b", lambda x: jnp.polydiv(x, jnp.array([2.0, 1.0])), (((B + 1,), F),)),
    Case("polymul_b", lambda x, y: jnp.polymul(x, y), (VECTOR, ((C,), F))),
    Case("logmeanexp_b", lambda x: nn.logmeanexp(x, axis=0), (ROWS,)),
    Case("dpa_width", lambda x: nn.dot_product_attention(x, x, x), (((2, 3, 2, B), F),)),
    Case("lu_b", lambda x: olympus.scipy.linalg.lu(x), (BOTH,)),
    Case("companion_b", lambda x: olympus.scipy.linalg.companion(x), (((B + 1,), F),)),
    Case("sqrtm_b", lambda x: olympus.scipy.linalg.sqrtm(x @ x.T + jnp.eye(x.shape[0])), (SQUARE,)),
    Case("mode_b", lambda i: olympus.scipy.stats.mode(i), (INDICES,)),
    Case("detrend_b", lambda x: olympus.scipy.signal.detrend(x), (((B + 1,), F),)),
    Case("delete_1", lambda x: jnp.delete(x, 1, axis=0), (((B + 1, 4), F),)),
    Case("delete_some", lambda x: jnp.delete(x, np.array([0, 2, 2])), (((B + 2,), F),)),
    Case("delete_last", lambda x: jnp.delete(x, [-1, -2]), (((B + 1,), F),)),
    Case("delete_slice", lambda x: jnp.delete(x, slice(1, 3)), (VECTOR,)),
]
#: the cases that each run of the tests has; the others are run by night
DAILY = frozenset(
    (
        *("mean", "arange", "reshape", "concat", "slice", "slice4", "idx-1", "gather", "take"),
        *("at_add", "dot", "einsum3", "cumsum", "sort", "argmax", "onehot", "softmax", "split"),
        *("roll", "grad_mm", "grad_gather", "grad_roll", "vmap_dslice", "scan", "fori_b", "cond"),
        *("grad_scan", "nested_jit", "conv_same_sp", "maxpool", "cholesky", "random_normal"),
        *("dpa", "grad_embed", "irfft_b", "grad_fft", "searchsorted_b", "resize_b", "delete_some"),
    )
)  # fmt: skip
SIZES = ((1, 2), (6, 3))


def _argument(aval: ShapedArray, sizes: dict[str, Any], draw: np.random.Generator) -> Any:
    shape = tuple(int(evaluated(n, sizes)) for n in aval.shape)
    if aval.dtype.kind == "i":
        return draw.integers(0, 3, shape).astype(aval.dtype)
    return draw.normal(size=shape).astype(aval.dtype)


def _check(case: Case, sizes: tuple[int, int]) -> None:
    traced = jit(case.function).trace(*[ShapeDtypeStruct(s, d) for s, d in case.specs])
    lowered, avals = traced.lower(), traced.signature.in_avals
    values: dict[str, Any] = dict(zip("bc", sizes, strict=True))
    draw = np.random.default_rng(0)
    args = [_argument(a, values, draw) for a in avals]
    static = jit(case.function).lower(*args)
    types = {i: shaped(x.shape, x.dtype) for i, x in enumerate(args) if avals[i].is_symbolic}
    module = refined(mlir.copied_module(lowered.module), types, case.name)
    results = Lowered(static.signature, module, static.target).compile()(*args)
    expected = static.compile()(*args)
    for x, y in zip(tree.leaves(results), tree.leaves(expected), strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("case", [c for c in CASES if c.name in DAILY], ids=lambda c: c.name)
def test_a_symbolic_program_equals_the_static_one(case: Case, sizes: tuple[int, int]) -> None:
    _check(case, sizes)


@pytest.mark.night
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in DAILY], ids=lambda c: c.name)
def test_other_symbolic_programs_equal_the_static_ones(case: Case) -> None:
    for sizes in SIZES:
        _check(case, sizes)
