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
]
#: the cases that each run of the tests has; the others are run by night
DAILY = frozenset(
    (
        *("mean", "arange", "reshape", "concat", "slice", "slice4", "idx-1", "gather", "take"),
        *("at_add", "dot", "einsum3", "cumsum", "sort", "argmax", "onehot", "softmax", "split"),
        *("roll", "grad_mm", "grad_gather", "grad_roll", "vmap_dslice", "scan", "fori_b", "cond"),
        *("grad_scan", "nested_jit", "conv_same_sp", "maxpool", "cholesky", "random_normal"),
        *("dpa", "grad_embed"),
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
