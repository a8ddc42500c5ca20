"""A Kalman smoother for linear models with Gaussian noise (Rauch, Tung and Striebel, 1965)."""

import olympus as ox

jnp = ox.numpy


def model(dt=0.1):
    """A point in the plane with position and velocity; its position is observed with noise."""
    eye, zero = jnp.eye(2), jnp.zeros((2, 2))
    q = jnp.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    return {
        "A": jnp.block([[eye, dt * eye], [zero, eye]]),
        "Q": 0.5 * jnp.kron(q, eye),
        "H": jnp.concatenate([eye, zero], axis=1),
        "R": 0.04 * eye,
        "mean": jnp.zeros(4),
        "cov": jnp.eye(4),
    }


def smooth(model, y):
    """Smoothed means, float32[steps, 4], and covariances, float32[steps, 4, 4], of observations.

    `y` is float32[steps, 2].  The third result is the log likelihood of `y`.
    """

    def forward(state, y):
        return filter_step(model, *state, y)

    first = model["mean"], model["cov"]
    _, (predicted, filtered, likelihoods) = ox.lax.scan(forward, first, y)

    def backward(later, step):
        smoothed = smooth_step(model, later, *step)
        return smoothed, smoothed

    last = ox.tree.map(lambda x: x[-1], filtered)
    earlier = ox.tree.map(lambda x: x[:-1], filtered)
    later = ox.tree.map(lambda x: x[1:], predicted)
    _, smoothed = ox.lax.scan(backward, last, (earlier, later), reverse=True)
    mean, cov = ox.tree.map(lambda x, end: jnp.concatenate([x, end[None]]), smoothed, last)
    return mean, cov, likelihoods.sum()


def filter_step(model, mean, cov, y):
    """The next state, and the inputs of the smoother: prediction, filtered state, likelihood."""
    H, R = model["H"], model["R"]
    residual, S = y - H @ mean, H @ cov @ H.T + R
    gain = solve(S, H @ cov).T
    filtered = mean + gain @ residual, cov - gain @ S @ gain.T
    _, logdet = jnp.linalg.slogdet(2 * jnp.pi * S)
    likelihood = -0.5 * (logdet + residual @ solve(S, residual))
    return predict(model, *filtered), ((mean, cov), filtered, likelihood)


def predict(model, mean, cov):
    return model["A"] @ mean, model["A"] @ cov @ model["A"].T + model["Q"]


def smooth_step(model, later, filtered, predicted):
    """The smoothed state before a `later` smoothed one, whose prediction was `predicted`."""
    (mean, cov), (next_mean, next_cov) = filtered, predicted
    gain = solve(next_cov, model["A"] @ cov).T
    return mean + gain @ (later[0] - next_mean), cov + gain @ (later[1] - next_cov) @ gain.T


def solve(matrix, right):
    """Solve with a positive definite matrix."""
    return ox.scipy.linalg.cho_solve(ox.scipy.linalg.cho_factor(matrix), right)
