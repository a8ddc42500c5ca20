"""A residual network with batch normalization, and its training step (He et al., 2016).

It has three stages of blocks, each at half the resolution and twice the width of the one before.
"""

from itertools import pairwise

import olympus as ox

jnp = ox.numpy


def init(seed=0, *, n_block=3, width=16, n_class=10):
    """The initial state of training. Three blocks a stage are the ResNet-20 of 32 x 32 images."""
    keys = key_supply(ox.random.key(seed))
    widths = [width] + [width * 2**stage for stage in range(3) for _ in range(n_block)]
    blocks = [init_block(keys, n_in, n_out) for n_in, n_out in pairwise(widths)]
    params = {
        "stem": init_conv(next(keys), 3, 3, width),
        "norm": init_norm(width),
        "blocks": blocks,
        "out": {"w": init_conv(next(keys), 1, widths[-1], n_class)[0, 0], "b": jnp.zeros(n_class)},
    }
    averages = {"norm": init_averages(width), "blocks": [init_block_averages(p) for p in blocks]}
    velocity = ox.tree.map(jnp.zeros_like, params)
    return {"params": params, "averages": averages, "velocity": velocity}


def key_supply(key):
    """Yield fresh keys without end."""
    while True:
        key, fresh = ox.random.split(key)
        yield fresh


def init_block(keys, n_in, n_out):
    block = {
        "conv_1": init_conv(next(keys), 3, n_in, n_out),
        "norm_1": init_norm(n_out),
        "conv_2": init_conv(next(keys), 3, n_out, n_out),
        "norm_2": init_norm(n_out),
    }
    return block if n_in == n_out else block | {"proj": init_conv(next(keys), 1, n_in, n_out)}


def init_conv(key, size, n_in, n_out):
    """A kernel of variance 2 / inputs, which keeps a relu layer's activations at scale one."""
    scale = (2 / (size * size * n_in)) ** 0.5
    return scale * ox.random.normal(key, (size, size, n_in, n_out))


def init_norm(width):
    return {"g": jnp.ones(width), "b": jnp.zeros(width)}


def init_averages(width):
    return {"mean": jnp.zeros(width), "var": jnp.ones(width)}


def init_block_averages(block):
    return {name: init_averages(len(block[name]["g"])) for name in ("norm_1", "norm_2")}


def conv(x, kernel, stride=1):
    order = ("NHWC", "HWIO", "NHWC")
    return ox.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=order)


def batch_norm(p, averages, x, train):
    """Normalized channels: by the batch in training, otherwise by the averages of training."""
    mean, var = averages["mean"], averages["var"]
    if train:
        mean, var = jnp.mean(x, axis=(0, 1, 2)), jnp.var(x, axis=(0, 1, 2))
        new = {"mean": mean, "var": var}
        averages = ox.tree.map(lambda old, now: 0.9 * old + 0.1 * now, averages, new)
    return (x - mean) * ox.lax.rsqrt(var + 1e-5) * p["g"] + p["b"], averages


def block(p, averages, x, train):
    """Two convolutions beside a shortcut, which is strided where the width grows."""
    stride = 2 if "proj" in p else 1
    y, first = batch_norm(p["norm_1"], averages["norm_1"], conv(x, p["conv_1"], stride), train)
    y = conv(ox.nn.relu(y), p["conv_2"])
    y, second = batch_norm(p["norm_2"], averages["norm_2"], y, train)
    shortcut = conv(x, p["proj"], stride) if "proj" in p else x
    return ox.nn.relu(shortcut + y), {"norm_1": first, "norm_2": second}


def forward(params, averages, images, train):
    """Images, float32[batch, height, width, 3], to logits, and the averages after this batch."""
    x, norm = batch_norm(params["norm"], averages["norm"], conv(images, params["stem"]), train)
    x, blocks = ox.nn.relu(x), []
    for p, a in zip(params["blocks"], averages["blocks"], strict=True):
        x, a = block(p, a, x, train)
        blocks.append(a)
    logits = jnp.mean(x, axis=(1, 2)) @ params["out"]["w"] + params["out"]["b"]
    return logits, {"norm": norm, "blocks": blocks}


def loss(params, averages, images, labels):
    """The mean cross entropy of the labels, int32[batch], and the averages after this batch."""
    logits, averages = forward(params, averages, images, True)
    scores = jnp.take_along_axis(ox.nn.log_softmax(logits), labels[:, None], axis=-1)
    return -jnp.mean(scores), averages


def train_step(state, images, labels):
    """The state after a step of gradient descent with momentum, and the loss before it."""
    differentiated = ox.value_and_grad(loss, has_aux=True)
    (value, averages), grads = differentiated(state["params"], state["averages"], images, labels)
    velocity = ox.tree.map(lambda v, g: 0.9 * v + g, state["velocity"], grads)
    params = ox.tree.map(lambda p, v: p - 0.1 * v, state["params"], velocity)
    return {"params": params, "averages": averages, "velocity": velocity}, value


def predict(state, images):
    """The logits of a trained network, for which the normalization is fixed."""
    logits, _ = forward(state["params"], state["averages"], images, False)
    return logits
