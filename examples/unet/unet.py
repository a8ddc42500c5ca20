"""A U-Net that labels each pixel of an image, and its training step (Ronneberger et al., 2015).

On the way down each level halves the resolution and doubles the width; on the way up it also sees
what the level of its own resolution saw.
"""

import olympus as ox

jnp = ox.numpy


def init(seed=0, *, n_level=3, n_block=2, width=16, n_class=4):
    """Parameters: `n_block` residual blocks on both sides of each level."""
    keys = key_supply(ox.random.key(seed))
    widths = [width * 2**level for level in range(n_level)]

    def blocks(n):
        return [init_block(keys, n) for _ in range(n_block)]

    return {
        "stem": init_conv(next(keys), 3, 3, width),
        "down": [
            {"blocks": blocks(n), "halve": init_conv(next(keys), 2, n, 2 * n)} for n in widths
        ],
        "middle": blocks(2 * widths[-1]),
        "up": [
            {
                "narrow": init_conv(next(keys), 1, 2 * n, n),
                "merge": init_conv(next(keys), 1, 2 * n, n),
                "blocks": blocks(n),
            }
            for n in reversed(widths)
        ],
        "norm": init_norm(width),
        "out": init_conv(next(keys), 1, width, n_class, 0.1),
    }


def key_supply(key):
    """Yield fresh keys without end."""
    while True:
        key, fresh = ox.random.split(key)
        yield fresh


def init_block(keys, width):
    return {
        "norm": init_norm(width),
        "conv_1": init_conv(next(keys), 3, width, width),
        "conv_2": init_conv(next(keys), 3, width, width, 0.1),
    }


def init_norm(width):
    return {"g": jnp.ones(width), "b": jnp.zeros(width)}


def init_conv(key, size, n_in, n_out, scale=1.0):
    """A kernel of variance 2 / inputs, times the square of `scale`, and a bias."""
    scale *= (2 / (size * size * n_in)) ** 0.5
    return {"w": scale * ox.random.normal(key, (size, size, n_in, n_out)), "b": jnp.zeros(n_out)}


def conv(p, x, stride=1):
    order = ("NHWC", "HWIO", "NHWC")
    y = ox.lax.conv_general_dilated(x, p["w"], (stride, stride), "SAME", dimension_numbers=order)
    return y + p["b"]


def group_norm(p, x, groups=4):
    """Each image's channels, normalized in `groups` groups (Wu and He, 2018)."""
    grouped = x.reshape(*x.shape[:3], groups, -1)
    mean = jnp.mean(grouped, axis=(1, 2, 4), keepdims=True)
    var = jnp.var(grouped, axis=(1, 2, 4), keepdims=True)
    return ((grouped - mean) * ox.lax.rsqrt(var + 1e-5)).reshape(x.shape) * p["g"] + p["b"]


def block(p, x):
    y = conv(p["conv_1"], ox.nn.silu(group_norm(p["norm"], x)))
    return x + conv(p["conv_2"], ox.nn.silu(y))


def double(x):
    """Each pixel becomes four."""
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def forward(params, images):
    """Images, float32[batch, height, width, 3], to logits, float32[batch, height, width, n_class].

    Height and width are multiples of 2 to the power of the number of levels.
    """
    x, seen = conv(params["stem"], images), []
    for level in params["down"]:
        for p in level["blocks"]:
            x = block(p, x)
        seen.append(x)
        x = conv(level["halve"], x, stride=2)
    for p in params["middle"]:
        x = block(p, x)
    for level in params["up"]:
        x = jnp.concatenate([conv(level["narrow"], double(x)), seen.pop()], axis=-1)
        x = conv(level["merge"], x)
        for p in level["blocks"]:
            x = block(p, x)
    return conv(params["out"], ox.nn.silu(group_norm(params["norm"], x)))


def loss(params, images, labels):
    """The mean cross entropy of the pixels' labels, int32[batch, height, width]."""
    scores = ox.nn.log_softmax(forward(params, images))
    return -jnp.mean(jnp.take_along_axis(scores, labels[..., None], axis=-1))


def train_step(params, images, labels):
    """The parameters after a step of gradient descent, and the loss before it."""
    value, grads = ox.value_and_grad(loss)(params, images, labels)
    return ox.tree.map(lambda p, g: p - 0.1 * g, params, grads), value
