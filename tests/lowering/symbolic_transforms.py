"""Transformations and control flow with symbolic shapes."""

from __future__ import annotations

import olympus
import olympus.numpy as jnp
from olympus import checkpoint, grad, jit, lax, nn, random, vmap
from tests.lowering.symbolic_case import (
    ATT,
    BOTH,
    IMAGES,
    INDICES,
    INT,
    MATRICES,
    ROWS,
    VECTOR,
    WEIGHTS,
    B,
    C,
    Case,
    F,
    attn,
)

CASES = [
    Case("grad", grad(lambda x: (jnp.sin(x) ** 2).mean()), (ROWS,)),
    Case("grad_mm", grad(lambda x, w: jnp.tanh(x @ w).sum(), argnums=(0, 1)), (ROWS, WEIGHTS)),
    Case("grad_slice", grad(lambda x: (x[1:] ** 2).sum()), (((B + 1, 3), F),)),
    Case("grad_max", grad(lambda x: x.max(0).sum()), (ROWS,)),
    Case("grad_cumsum", grad(lambda x: (jnp.cumsum(x) ** 2).sum()), (VECTOR,)),
    Case("grad_gather", grad(lambda x, i: (x[i] ** 2).sum()), (ROWS, INDICES)),
    Case("grad_soft", grad(lambda x: nn.logsumexp(x, axis=0).sum()), (ROWS,)),
    Case("grad_pad", grad(lambda x: (jnp.pad(x, ((1, 1), (0, 0))) ** 2).sum()), (ROWS,)),
    Case("grad_concat", grad(lambda x: (jnp.concatenate([x, x]) ** 2).sum()), (VECTOR,)),
    Case("grad_sort", grad(lambda x: (jnp.sort(x) * jnp.arange(x.shape[0])).sum()), (VECTOR,)),
    Case("jvp", lambda x: olympus.jvp(jnp.sin, (x,), (x,)), (ROWS,)),
    Case("grad_prod", grad(lambda x: x.prod()), (VECTOR,)),
    Case("grad_reshape", grad(lambda x: (x.reshape(-1) ** 2).sum()), (ROWS,)),
    Case("grad_roll", grad(lambda x: (jnp.roll(x, 1) * x).sum()), (VECTOR,)),
    Case("vmap", vmap(lambda x: jnp.sin(x).sum()), (ROWS,)),
    Case("vmap_mm", lambda x, w: vmap(lambda r: r @ w)(x), (ROWS, WEIGHTS)),
    Case("vmap_grad", vmap(grad(lambda r: (r**3).sum())), (ROWS,)),
    Case("vmap_idx", lambda x, i: vmap(lambda r, k: r[k])(x, i), (ROWS, INDICES)),
    Case(
        "vmap_dslice",
        lambda x, i: vmap(lambda r, k: lax.dynamic_slice(r, (k,), (2,)))(x, i),
        (ROWS, INDICES),
    ),
    Case(
        "vmap_dus",
        lambda x, i: vmap(lambda r, k: lax.dynamic_update_slice(r, jnp.ones(2), (k,)))(x, i),
        (ROWS, INDICES),
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
        "switch", lambda x, i: lax.switch(i[0], [jnp.sin, jnp.cos, lambda y: y], x), (ROWS, INDICES)
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
        "grad_conv",
        grad(
            lambda x, w: (lax.conv_general_dilated(x, w, (1, 1), "SAME") ** 2).sum(), argnums=(0, 1)
        ),
        (IMAGES, ((5, 3, 3, 3), F)),
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
        "foldin",
        lambda i: vmap(lambda k: random.normal(random.fold_in(random.key(0), k)))(i),
        (INDICES,),
    ),
    Case("grad_attn", grad(lambda q: attn(q, q, q).sum()), (ATT,)),
    Case(
        "grad_xent",
        grad(lambda x, i: -jnp.take_along_axis(nn.log_softmax(x), i[:, None], axis=1).mean()),
        (ROWS, INDICES),
    ),
    Case("grad_embed", grad(lambda w, i: w[i].sum()), (((10, 4), F), ((B, C), INT))),
    Case("more_grad_cummax", grad(lambda x: lax.cummax(x, 0).sum()), (VECTOR,)),
    Case("more_grad_slc", grad(lambda x: (x[::2] ** 2).sum()), (VECTOR,)),
    Case("more_grad_slc_neg", grad(lambda x: (x[::-2] ** 2).sum()), (VECTOR,)),
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
        "more_grad_conv_sp",
        grad(
            lambda x, w: (lax.conv_general_dilated(x, w, (2,), "SAME") ** 2).sum(), argnums=(0, 1)
        ),
        (((2, 3, B + 4), F), ((5, 3, 3), F)),
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
        "more_split2",
        lambda x: vmap(lambda k: random.uniform(k))(random.split(random.key(0), x.shape[0])),
        (VECTOR,),
    ),
    Case(
        "more_vmap2", lambda x, y: vmap(lambda a: vmap(lambda d: a * d)(y))(x), (VECTOR, ((C,), F))
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
    Case("more_vmap_at", lambda x, i: vmap(lambda r, k: r.at[k].set(0.0))(x, i), (ROWS, INDICES)),
    Case(
        "more_vmap_conv",
        lambda x, w: vmap(lambda a: jnp.convolve(a, w, mode="same"))(x),
        (ROWS, ((3,), F)),
    ),
    Case("more_jacfwd", lambda x: olympus.jacfwd(lambda y: jnp.sin(y) * 2)(x), (((3,), F),)),
    Case("more_vjp_", lambda x: olympus.vjp(jnp.sin, x)[1](x)[0], (ROWS,)),
    Case("more_lin", lambda x: olympus.linearize(jnp.sin, x)[1](x), (ROWS,)),
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
    Case("more_stopg", grad(lambda x: (lax.stop_gradient(x) * x).sum()), (ROWS,)),
    Case(
        "more_remat2",
        grad(lambda x: olympus.checkpoint(lambda y: jnp.sin(y @ jnp.ones((4, 4))).sum())(x)),
        (ROWS,),
    ),
    Case("jacrev", lambda x: olympus.jacrev(jnp.sin)(x), (VECTOR,)),
    Case("jacfwd", lambda x, y: olympus.jacfwd(lambda a: jnp.outer(a, y[0]))(x), (VECTOR, ROWS)),
    Case("hessian", lambda x: olympus.hessian(lambda y: (y**3).sum())(x), (VECTOR,)),
    Case(
        "jacrev_of_two", lambda *p: olympus.jacrev(lambda q: q[0].sum() * q[1])(p), (VECTOR, ROWS)
    ),
    Case(
        "grad_pool_b",
        grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 1), (2, 1), "VALID").sum()),
        (((2 * B, 4), F),),
    ),
    Case("grad_fft", grad(lambda x: jnp.abs(jnp.fft.rfft(x) + 2).sum()), (VECTOR,)),
    Case("scan_unroll", lambda x: lax.scan(lambda s, r: (s + r, s), 0.0, x, unroll=4), (VECTOR,)),
    Case("associative_scan", lambda x: lax.associative_scan(jnp.multiply, x), (VECTOR,)),
    Case(
        "associative_scan_of_two",
        lambda x, y: lax.associative_scan(
            lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (x, y), reverse=True, axis=1
        ),
        (BOTH, BOTH),
    ),
    Case(
        "grad_associative", grad(lambda x: lax.associative_scan(jnp.multiply, x).sum()), (VECTOR,)
    ),
    Case("grad_cumprod", grad(lambda x: jnp.cumprod(x).sum()), (VECTOR,)),
    Case("grad_cumprod_reverse", grad(lambda x: lax.cumprod(x, 0, reverse=True).sum()), (ROWS,)),
    Case("grad_cumlogsumexp", grad(lambda x: lax.cumlogsumexp(x, 0).sum()), (ROWS,)),
]
