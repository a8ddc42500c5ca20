"""Train a small GPT on text, a byte at a time: the model, its loss and a step of Adam.

`olympus build` compiles `init` and `train_step`; loop.py calls what was built.
"""

import olympus as ox

jnp = ox.numpy


def init(seed=0, *, n_layer=2, d_model=64):
    """The initial state of training: parameters, and Adam's averages of the gradients."""
    params = init_gpt(ox.random.key(seed), n_layer=n_layer, d_model=d_model, vocab=128, n_ctx=64)
    zeros = ox.tree.map(jnp.zeros_like, params)
    return {"params": params, "mean": zeros, "square": zeros, "step": jnp.int32(0)}


def init_gpt(key, *, n_layer, d_model, vocab, n_ctx):
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
        "qkv": init_dense(qkv_key, d_model, 3 * d_model),
        "proj": init_dense(proj_key, d_model, d_model, residual_scale),
        "ln_2": init_norm(d_model),
        "fc": init_dense(fc_key, d_model, 4 * d_model),
        "out": init_dense(out_key, 4 * d_model, d_model, residual_scale),
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


def forward(params, tokens, n_head):
    """Tokens, int32[batch, length], to next-token logits, float32[batch, length, vocab]."""
    x = params["wte"][tokens] + params["wpe"][: tokens.shape[1]]
    for p in params["blocks"]:
        x = x + attention(p, layer_norm(p["ln_1"], x), n_head)
        x = x + dense(p["out"], ox.nn.gelu(dense(p["fc"], layer_norm(p["ln_2"], x))))
    return layer_norm(params["ln_f"], x) @ params["wte"].T


def loss(params, tokens, n_head):
    """The mean cross entropy, in nats a byte, of each token given those before it."""
    scores = ox.nn.log_softmax(forward(params, tokens[:, :-1], n_head))
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1))


def adam(state, grads, rate=3e-3, b1=0.9, b2=0.99, eps=1e-8):
    """A step of Adam (Kingma and Ba, 2015): each gradient's mean over the root of its square's."""
    step = state["step"] + 1
    mean = ox.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["mean"], grads)
    square = ox.tree.map(lambda s, g: b2 * s + (1 - b2) * g * g, state["square"], grads)
    rate *= jnp.sqrt(1 - b2**step) / (1 - b1**step)  # both averages start at zero

    def move(p, m, s):
        return p - rate * m / (jnp.sqrt(s) + eps)

    params = ox.tree.map(move, state["params"], mean, square)
    return {"params": params, "mean": mean, "square": square, "step": step}


def train_step(state, tokens, *, n_head):
    """The state after a batch, int32[batch, length + 1], and the loss on it before the step."""
    value, grads = ox.value_and_grad(loss)(state["params"], tokens, n_head)
    return adam(state, grads), value
