"""A long short-term memory network over a sequence, one `scan` step for each instant."""

import olympus as ox

jnp = ox.numpy


def init(n_in=16, n_hidden=64, n_out=4, seed=0):
    """Weights of one LSTM layer (its four gates side by side) and of a linear readout."""
    x_key, h_key, out_key = ox.random.split(ox.random.key(seed), 3)
    # A forget gate that starts open lets early gradients through time.
    forget_open = jnp.repeat(jnp.asarray([0.0, 1.0, 0.0, 0.0]), n_hidden)
    return {
        "wx": scaled(x_key, n_in, 4 * n_hidden),
        "wh": scaled(h_key, n_hidden, 4 * n_hidden),
        "b": forget_open,
        "out": {"w": scaled(out_key, n_hidden, n_out), "b": jnp.zeros(n_out)},
    }


def scaled(key, n_in, n_out):
    """Uniform weights of variance 1 / n_in."""
    bound = (3 / n_in) ** 0.5
    return ox.random.uniform(key, (n_in, n_out), minval=-bound, maxval=bound)


def cell(params, state, x):
    """One step: the state (h, c), each float32[batch, n_hidden], after seeing x."""
    h, c = state
    gates = x @ params["wx"] + h @ params["wh"] + params["b"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = ox.nn.sigmoid(f) * c + ox.nn.sigmoid(i) * jnp.tanh(g)
    h = ox.nn.sigmoid(o) * jnp.tanh(c)
    return h, c


def forward(params, x):
    """A sequence, float32[batch, time, n_in], to an output at each instant and the last state."""

    def step(state, x_t):
        h, c = cell(params, state, x_t)
        return (h, c), h

    zeros = jnp.zeros((x.shape[0], params["wh"].shape[0]), dtype=x.dtype)
    last, hs = ox.lax.scan(step, (zeros, zeros), x.swapaxes(0, 1))
    y = hs @ params["out"]["w"] + params["out"]["b"]
    return y.swapaxes(0, 1), last
