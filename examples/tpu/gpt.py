"""A training step of a GPT for a slice of TPUs: layers in a scan, recomputed in the backward pass.

The parameters are one array for all layers, so the program has the same size for any number of
layers. Products are in bfloat16, the parameters and Adam's averages in float32.
"""

import olympus as ox
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec

jnp = ox.numpy


def init(layers, width, hidden, vocab=32_000):
    """The parameters: normal, with gains of one; each array of `layers` has all layers."""
    keys = iter(ox.random.split(ox.random.key(0), 9))

    def normal(*shape):
        return shape[-2] ** -0.5 * ox.random.normal(next(keys), shape)

    return {
        "embedding": normal(vocab, width),
        "layers": {
            "attention_gain": jnp.ones((layers, width)),
            "query": normal(layers, width, width),
            "key": normal(layers, width, width),
            "value": normal(layers, width, width),
            "out": normal(layers, width, width),
            "hidden_gain": jnp.ones((layers, width)),
            "gate": normal(layers, width, hidden),
            "up": normal(layers, width, hidden),
            "down": normal(layers, hidden, width),
        },
        "gain": jnp.ones((1, width)),
        "output": normal(vocab, width),
    }


def split(x, chips):
    """Split the batch among the chips, so that the parameters move and the activations do not."""
    sharding = NamedSharding(AbstractMesh((chips,), ("data",)), PartitionSpec("data"))
    return ox.lax.with_sharding_constraint(x, sharding)


def rms_norm(x, gain):
    x = x.astype("float32")
    return (x * ox.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gain).astype(
        "bfloat16"
    )


def rotated(x):
    """Rotary positions (Su et al., 2021) of bfloat16[batch, length, heads, size]."""
    length, half = x.shape[1], x.shape[-1] // 2
    rates = 10_000.0 ** (-jnp.arange(half) / half)
    angles = (jnp.arange(length)[:, None] * rates)[:, None]
    first, second = x[..., :half], x[..., half:]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    turned = jnp.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)
    return turned.astype("bfloat16")


def attention(p, x, heads):
    """Each position attends to itself and to the positions before it."""
    batch, length, width = x.shape

    def parts(y):
        return y.reshape(batch, length, heads, width // heads)

    q, k, v = (parts(x @ p[name]) for name in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", rotated(q), rotated(k)).astype("float32")
    causal = jnp.tril(jnp.ones((length, length), dtype=bool))
    scores = jnp.where(causal, scores * (width // heads) ** -0.5, -1e9)
    weights = ox.nn.softmax(scores, axis=-1).astype("bfloat16")
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ p["out"]


def layer(x, p, heads, chips):
    p = {name: value.astype("bfloat16") for name, value in p.items()}
    x = split(x + attention(p, rms_norm(x, p["attention_gain"]), heads), chips)
    y = rms_norm(x, p["hidden_gain"])
    return split(x + (ox.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"], chips)


def loss(params, tokens, heads, chips):
    """The mean cross entropy of each token given those before it, for int32[batch, length + 1]."""
    inputs, labels = tokens[:, :-1], tokens[:, 1:]
    x = split(params["embedding"].astype("bfloat16")[inputs], chips)
    step = ox.checkpoint(lambda x, p: (layer(x, p, heads, chips), None))
    x, _ = ox.lax.scan(step, x, params["layers"])
    logits = rms_norm(x, params["gain"]) @ params["output"].astype("bfloat16").T
    scores = ox.nn.log_softmax(split(logits, chips).astype("float32"))
    return -jnp.mean(jnp.take_along_axis(scores, labels[..., None], axis=-1))


def train_step(params, mean, square, tokens, *, heads, chips, rate=3e-4):
    """A step of Adam (Kingma and Ba, 2015) without the correction of its first steps."""
    value, grads = ox.value_and_grad(loss)(params, tokens, heads, chips)
    mean = ox.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = ox.tree.map(lambda s, g: 0.95 * s + 0.05 * g * g, square, grads)
    params = ox.tree.map(lambda p, m, s: p - rate * m / (s**0.5 + 1e-8), params, mean, square)
    return params, mean, square, value
