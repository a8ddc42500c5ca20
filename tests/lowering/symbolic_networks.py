"""Layers, windows and random numbers with symbolic shapes."""

from __future__ import annotations

import olympus
import olympus.numpy as jnp
from olympus import lax, nn, random
from tests.lowering.symbolic_case import (
    ATT,
    IMAGES,
    INDICES,
    INT,
    ROWS,
    VECTOR,
    WEIGHTS,
    B,
    C,
    Case,
    F,
    attn,
    mlp,
)

CASES = [
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
    Case(
        "conv",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"),
        (IMAGES, ((5, 3, 3, 3), F)),
    ),
    Case("conv_valid", lambda x, w: lax.conv(x, w, (2, 2), "VALID"), (IMAGES, ((5, 3, 3, 3), F))),
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
        "conv_spatial",
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID"),
        (((2, 3, B + 4), F), ((5, 3, 3), F)),
    ),
    Case(
        "conv_same_sp",
        lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME"),
        (((2, 3, B + 4), F), ((5, 3, 3), F)),
    ),
    Case("random_normal", lambda x: random.normal(random.key(0), x.shape), (ROWS,)),
    Case("random_uniform", lambda x: random.uniform(random.key(0), (x.shape[0], 3)), (ROWS,)),
    Case("bernoulli", lambda x: random.bernoulli(random.key(0), 0.5, x.shape), (ROWS,)),
    Case("randint", lambda x: random.randint(random.key(0), x.shape, 0, 10), (ROWS,)),
    Case("categorical", lambda x: random.categorical(random.key(0), x), (ROWS,)),
    Case("permutation", lambda x: jnp.sort(random.permutation(random.key(0), x)), (VECTOR,)),
    Case("split_2", lambda x: random.split(random.PRNGKey(0), x.shape[0]), (VECTOR,)),
    Case("gumbel", lambda x: random.gumbel(random.key(0), x.shape), (ROWS,)),
    Case(
        "dropout",
        lambda x: jnp.where(random.bernoulli(random.key(1), 0.9, x.shape), x / 0.9, 0),
        (ROWS,),
    ),
    Case("exponential", lambda x: random.exponential(random.key(0), x.shape), (ROWS,)),
    Case("gamma", lambda x: random.gamma(random.key(0), 2.0, x.shape), (VECTOR,)),
    Case("attn", attn, (ATT, ATT, ATT)),
    Case("dpa", lambda q: nn.dot_product_attention(q, q, q, is_causal=True), (ATT,)),
    Case("mlp", mlp, (ROWS, WEIGHTS, ((6, 3), F))),
    Case(
        "xent",
        lambda x, i: -jnp.take_along_axis(nn.log_softmax(x), i[:, None], axis=1).mean(),
        (ROWS, INDICES),
    ),
    Case("more_onehotb", lambda i: nn.one_hot(i, i.shape[0]), (INDICES,)),
    Case(
        "more_conv_batch_c",
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        (IMAGES, ((C, 3, 3, 3), F)),
    ),
    Case(
        "more_conv_dil",
        lambda x, w: lax.conv_general_dilated(x, w, (1,), [(1, 2)], rhs_dilation=(2,)),
        (((2, 3, B + 5), F), ((5, 3, 3), F)),
    ),
    Case(
        "more_conv_tr",
        lambda x, w: lax.conv_transpose(
            x, w, (2,), "SAME", dimension_numbers=("NCH", "OIH", "NCH")
        ),
        (((2, 3, B + 1), F), ((5, 3, 3), F)),
    ),
    Case(
        "more_depthwise",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=3),
        (IMAGES, ((6, 1, 3, 3), F)),
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
    Case("more_rademacher", lambda x: random.rademacher(random.key(0), x.shape), (VECTOR,)),
    Case("more_bits64", lambda x: random.bits(random.key(0), x.shape, "uint16"), (VECTOR,)),
    Case("more_cjvp", lambda x: nn.relu(x) * nn.sigmoid(x), (ROWS,)),
    Case("more_logsumexp_w", lambda x: nn.logsumexp(x, axis=0, b=jnp.ones(4)), (ROWS,)),
    Case("more_nn_std", lambda x: nn.standardize(x, axis=0), (ROWS,)),
    Case("more_softplus", nn.softplus, (ROWS,)),
    Case("more_celu", nn.celu, (ROWS,)),
    Case("more_mish", lambda x: nn.swish(x), (ROWS,)),
    Case("more_view", lambda x: lax.bitcast_convert_type(x, INT), (ROWS,)),
    Case(
        "pool_same", lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 1), (2, 1), "SAME"), (ROWS,)
    ),
    Case(
        "resize_rows",
        lambda x: olympus.image.resize(x, (x.shape[0], 2, 5), "bilinear"),
        (((B, 3, 3), F),),
    ),
    Case("resize_b", lambda x: olympus.image.resize(x, (2 * x.shape[0], 3), "cubic"), (ROWS,)),
    Case("resize_near", lambda x: olympus.image.resize(x, (3 * x.shape[0], 2), "nearest"), (ROWS,)),
    Case("logmeanexp_b", lambda x: nn.logmeanexp(x, axis=0), (ROWS,)),
    Case("dpa_width", lambda x: nn.dot_product_attention(x, x, x), (((2, 3, 2, B), F),)),
]
