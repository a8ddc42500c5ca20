"""A decoder with int8 weights and a cache: one token in, the logits of the next token out.

Each matrix is int8 with a scale for each column. The cache holds the keys and values of the tokens
before; `step` returns it with those of the new token.
"""

import olympus as ox

jnp = ox.numpy
N_HEAD = 4


def tiny(seed=0):
    """Two narrow layers over bytes: builds in a moment."""
    return init(ox.random.key(seed), n_layer=2, d_model=64, d_hidden=128, vocab=256)


def base(seed=0):
    """Twelve layers over bytes."""
    return init(ox.random.key(seed), n_layer=12, d_model=512, d_hidden=1536, vocab=256)


def tiny_cache():
    """An empty cache of `tiny` for a batch of 2 and 32 tokens."""
    return init_cache(tiny(), batch=2, n_ctx=32)


def base_cache():
    """An empty cache of `base` for a batch of 8 and 256 tokens."""
    return init_cache(base(), batch=8, n_ctx=256)


def init(key, *, n_layer, d_model, d_hidden, vocab):
    """Random parameters; the embedding is also the output layer."""
    embed_key, *layer_keys = ox.random.split(key, n_layer + 1)
    return {
        "embed": 0.02 * ox.random.normal(embed_key, (vocab, d_model)),
        "layers": [init_layer(k, d_model, d_hidden) for k in layer_keys],
        "norm": jnp.ones(d_model),
    }


def init_layer(key, d_model, d_hidden):
    names = ("q", "k", "v", "out", "gate", "up", "down")
    keys = dict(zip(names, ox.random.split(key, len(names)), strict=True))
    shapes = {"gate": (d_model, d_hidden), "up": (d_model, d_hidden), "down": (d_hidden, d_model)}
    matrices = {
        name: quantized(ox.random.normal(k, shapes.get(name, (d_model, d_model))) * d_model**-0.5)
        for name, k in keys.items()
    }
    return matrices | {"norm_1": jnp.ones(d_model), "norm_2": jnp.ones(d_model)}


def init_cache(params, *, batch, n_ctx):
    """Keys and values of no token yet, and their number."""
    d_model = params["norm"].shape[0]
    shape = (batch, n_ctx, N_HEAD, d_model // N_HEAD)
    layers = [{"k": jnp.zeros(shape), "v": jnp.zeros(shape)} for _ in params["layers"]]
    return {"layers": layers, "length": jnp.zeros((), dtype=jnp.int32)}


def quantized(w):
    """A matrix as int8, with the scale of each column."""
    scale = jnp.max(jnp.abs(w), axis=0) / 127
    return {"w": jnp.round(w / scale).astype(jnp.int8), "scale": scale}


def qmatmul(p, x):
    return (x @ p["w"].astype(x.dtype)) * p["scale"]


def rms_norm(gain, x, eps=1e-5):
    return x * ox.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * gain


def extended(cache, new, length):
    """The cache with the keys or values of one more token."""
    return ox.lax.dynamic_update_slice(cache, new[:, None], (0, length, 0, 0))


def attention(p, x, cache, length):
    """The new token looks at itself and at all tokens in the cache."""
    batch, d_model = x.shape
    heads = (batch, N_HEAD, d_model // N_HEAD)
    q = qmatmul(p["q"], x).reshape(heads)
    k = extended(cache["k"], qmatmul(p["k"], x).reshape(heads), length)
    v = extended(cache["v"], qmatmul(p["v"], x).reshape(heads), length)
    scores = jnp.einsum("bhd,bthd->bht", q, k) * heads[-1] ** -0.5
    known = jnp.arange(k.shape[1]) <= length
    weights = ox.nn.softmax(jnp.where(known, scores, -1e30), axis=-1)
    mixed = jnp.einsum("bht,bthd->bhd", weights, v).reshape(batch, d_model)
    return qmatmul(p["out"], mixed), {"k": k, "v": v}


def mlp(p, x):
    gate = ox.nn.silu(qmatmul(p["gate"], x))
    up = qmatmul(p["up"], x)
    return qmatmul(p["down"], gate * up)


def step(params, cache, tokens):
    """Tokens, int32[batch], and the cache, to logits, float32[batch, vocab], and the new cache."""
    x, length, layers = params["embed"][tokens], cache["length"], []
    for p, old in zip(params["layers"], cache["layers"], strict=True):
        mixed, new = attention(p, rms_norm(p["norm_1"], x), old, length)
        x = x + mixed
        x = x + mlp(p, rms_norm(p["norm_2"], x))
        layers.append(new)
    logits = rms_norm(params["norm"], x) @ params["embed"].T
    return logits, {"layers": layers, "length": length + 1}
