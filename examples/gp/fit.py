"""Fit a Gaussian process to noisy samples of a sine, with the programs of `olympus build`."""

from pathlib import Path

import numpy as np

from olympus import artifact

build = Path(__file__).parent / "build"
newton, hessian, predict = (
    artifact.load(build / f"{name}/{name}.olympus").compiled()
    for name in ("newton", "hessian", "predict")
)
x = np.linspace(0, 20, 60, dtype="float32")
y = np.sin(x) + 0.3 * np.random.default_rng(0).standard_normal(60, dtype="float32")
theta = np.log(np.array([1.0, 1.0, 0.3], "float32"))
for i in range(8):
    theta, value = newton(theta, x, y)
    print(f"step {i}: log evidence {float(value):.4f}")

# The curvature of the evidence at its peak is the precision of each hyperparameter.
spread = np.sqrt(np.diag(np.linalg.inv(-np.asarray(hessian(theta, x, y)))))
for name, log, sd in zip(("amplitude", "length", "noise"), np.asarray(theta), spread, strict=True):
    print(f"{name:9} {np.exp(log):.2f}, within a factor of {np.exp(sd):.2f}")

new = np.linspace(0, 20, 5, dtype="float32")
mean, sd = (np.asarray(result) for result in predict(theta, x, y, new))
for point in zip(new, mean, sd, np.sin(new), strict=True):
    print("at {:4.1f}: {:5.2f} +- {:.2f}, in truth {:5.2f}".format(*point))
