"""GPT-2: learned positions, pre-norm blocks, causal multi-head attention, gelu, a tied output.

The sizes follow from the parameters; only the number of heads is a static argument.
"""

import olympus as ox

jnp = ox.numpy


def tiny(seed=0):
    """Two narrow layers over bytes: builds in a moment."""
    return init(ox.random.key(seed), n_layer=2, d_model=64, vocab=256, n_ctx=64)


def small(seed=0):
    """The 124 million parameters of GPT-2 small."""
    return init(ox.random.key(seed), n_layer=12, d_model=768, vocab=50257, n_ctx=1024)


def init(key, *, n_layer, d_model, vocab, n_ctx):
    """The initial parameters of GPT-2: normal, and smaller in layers that add to the residual."""
    wte_key, wpe_key, *block_keys = ox.random.split(key, n_layer + 2)
    return {
        "wte": 0.02 * ox.random.normal(wte_key, (vocab, d_model)),
        "wpe": 0.01 * ox.random.normal(wpe_key, (n_ctx, d_model)),
        "blocks": [init_block(k, d_model, (2 * n_layer) ** -0.5) for k in block_keys],
        "ln_f": init_norm(d_model),
    }


def init_block(key, d_model, residual_scale):
    qkv_key, proj_key, fc_key, out_key = ox.random.split(key, 4)
    return {
        "ln_1": init_norm(d_model),
        "attn": {
            "qkv": init_dense(qkv_key, d_model, 3 * d_model),
            "proj": init_dense(proj_key, d_model, d_model, residual_scale),
        },
        "ln_2": init_norm(d_model),
        "mlp": {
            "fc": init_dense(fc_key, d_model, 4 * d_model),
            "proj": init_dense(out_key, 4 * d_model, d_model, residual_scale),
        },
    }


def init_dense(key, n_in, n_out, scale=1.0):
    return {"w": 0.02 * scale * ox.random.normal(key, (n_in, n_out)), "b": jnp.zeros(n_out)}


def init_norm(width):
    return {"g": jnp.ones(width), "b": jnp.zeros(width)}


def dense(p, x):
    return x @ p["w"] + p["b"]


def layer_norm(p, x, eps=1e-5):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * ox.lax.rsqrt(var + eps) * p["g"] + p["b"]


def attention(p, x, n_head):
    """Each position looks at itself and at what came before it, n_head times in parallel."""
    batch, length, d_model = x.shape

    def heads(y):
        return y.reshape(batch, length, n_head, d_model // n_head).swapaxes(1, 2)

    q, k, v = (heads(y) for y in jnp.split(dense(p["qkv"], x), 3, axis=-1))
    scores = q @ k.swapaxes(-1, -2) / (d_model // n_head) ** 0.5
    causal = jnp.tril(jnp.ones((length, length), dtype=bool))
    weights = ox.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
    return dense(p["proj"], (weights @ v).swapaxes(1, 2).reshape(batch, length, d_model))


def mlp(p, x):
    return dense(p["proj"], ox.nn.gelu(dense(p["fc"], x)))


def forward(params, tokens, *, n_head):
    """Tokens, int32[batch, length], to next-token logits, float32[batch, length, vocab]."""
    x = params["wte"][tokens] + params["wpe"][: tokens.shape[1]]
    for block in params["blocks"]:
        x = x + attention(block["attn"], layer_norm(block["ln_1"], x), n_head)
        x = x + mlp(block["mlp"], layer_norm(block["ln_2"], x))
    return layer_norm(params["ln_f"], x) @ params["wte"].T
