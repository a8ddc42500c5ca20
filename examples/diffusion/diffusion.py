"""A diffusion model of images: a U-Net that predicts the noise in an image (Ho et al., 2020)."""

import math

import olympus as ox

jnp = ox.numpy


def init(seed=0, *, width=16, n_level=2, n_channel=3):
    """Parameters of the network: two blocks at each level on the way down and on the way up."""
    keys = iter(ox.random.split(ox.random.key(seed), 64))
    widths = [width * 2**level for level in range(n_level)]
    return {
        "time": [
            init_dense(next(keys), width, 4 * width),
            init_dense(next(keys), 4 * width, width),
        ],
        "stem": init_conv(next(keys), 3, n_channel, width),
        "down": [
            {"block": init_block(keys, n, width), "halve": init_conv(next(keys), 3, n, 2 * n)}
            for n in widths
        ],
        "middle": init_block(keys, 2 * widths[-1], width),
        "up": [
            {"merge": init_conv(next(keys), 3, 3 * n, n), "block": init_block(keys, n, width)}
            for n in reversed(widths)
        ],
        "out": init_conv(next(keys), 3, width, n_channel, 0.1),
    }


def init_state(seed=0):
    """The state of training: parameters, the two moments of Adam, and the number of steps."""
    params = init(seed)
    zeros = ox.tree.map(jnp.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros, "step": jnp.zeros((), "int32")}


def init_block(keys, width, n_time):
    return {
        "conv_1": init_conv(next(keys), 3, width, width),
        "time": init_dense(next(keys), n_time, width),
        "conv_2": init_conv(next(keys), 3, width, width, 0.1),
    }


def init_dense(key, n_in, n_out):
    return {"w": ox.random.normal(key, (n_in, n_out)) / n_in**0.5, "b": jnp.zeros(n_out)}


def init_conv(key, size, n_in, n_out, scale=1.0):
    """A kernel of variance 2 / inputs, times the square of `scale`, and a bias."""
    scale *= (2 / (size * size * n_in)) ** 0.5
    return {"w": scale * ox.random.normal(key, (size, size, n_in, n_out)), "b": jnp.zeros(n_out)}


def dense(p, x):
    return x @ p["w"] + p["b"]


def conv(p, x, stride=1):
    order = ("NHWC", "HWIO", "NHWC")
    y = ox.lax.conv_general_dilated(x, p["w"], (stride, stride), "SAME", dimension_numbers=order)
    return y + p["b"]


def normalize(x, groups=4):
    """Each image's channels, normalized in `groups` groups."""
    grouped = x.reshape(*x.shape[:3], groups, -1)
    mean = jnp.mean(grouped, axis=(1, 2, 4), keepdims=True)
    var = jnp.var(grouped, axis=(1, 2, 4), keepdims=True)
    return ((grouped - mean) * ox.lax.rsqrt(var + 1e-5)).reshape(x.shape)


def block(p, x, time):
    y = conv(p["conv_1"], ox.nn.silu(normalize(x))) + dense(p["time"], time)[:, None, None]
    return x + conv(p["conv_2"], ox.nn.silu(normalize(y)))


def embed_time(p, time, width):
    """Sines and cosines of the time in [0, 1), float32[batch], and two dense layers."""
    frequencies = jnp.exp(jnp.linspace(0.0, math.log(1000.0), width // 2))
    angles = time[:, None] * frequencies
    features = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
    return dense(p[1], ox.nn.silu(dense(p[0], features)))


def predict(params, images, time):
    """The noise in noisy images, float32[batch, height, width, channels], at a time."""
    x = conv(params["stem"], images)
    time, seen = embed_time(params["time"], time, x.shape[-1]), []
    for level in params["down"]:
        x = block(level["block"], x, time)
        seen.append(x)
        x = conv(level["halve"], x, stride=2)
    x = block(params["middle"], x, time)
    for level in params["up"]:
        x = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
        x = conv(level["merge"], jnp.concatenate([x, seen.pop()], axis=-1))
        x = block(level["block"], x, time)
    return conv(params["out"], ox.nn.silu(normalize(x)))


def loss(params, images, noise, time):
    """The mean squared error of the noise that is predicted in images mixed with `noise`."""
    angle = (time * (math.pi / 2))[:, None, None, None]
    noisy = jnp.cos(angle) * images + jnp.sin(angle) * noise
    return jnp.mean((predict(params, noisy, time) - noise) ** 2)


def train_step(state, images, noise, time, *, rate=1e-3, b1=0.9, b2=0.999):
    """The state after a step of Adam (Kingma and Ba, 2015), and the loss before it."""
    value, grads = ox.value_and_grad(loss)(state["params"], images, noise, time)
    step = state["step"] + 1
    m = ox.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["m"], grads)
    v = ox.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state["v"], grads)
    scale = rate * jnp.sqrt(1 - b2**step) / (1 - b1**step)
    params = ox.tree.map(
        lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), state["params"], m, v
    )
    return {"params": params, "m": m, "v": v, "step": step}, value
