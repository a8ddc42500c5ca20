"""Train on fresh points with the built programs, and save the parameters."""

import numpy as np

from olympus import artifact


def spirals(count, seed):
    """Points on two noisy spirals, float32[count, 2], and the spiral of each, int32[count]."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count).astype("int32")
    radius = rng.uniform(0.2, 2, count)
    angle = 3 * radius + np.pi * labels
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return (points + rng.normal(0, 0.05, points.shape)).astype("float32"), labels


init = artifact.load("build/init/init.olympus").compiled()
step = artifact.load("build/step/step.olympus").compiled()
predict = artifact.load("build/predict@batch=256/predict@batch=256.olympus").compiled()

params = init()
for i in range(2001):
    params, loss = step(params, *spirals(256, seed=i))
    if i % 500 == 0:
        print(f"step {i:4}  loss {float(loss):.2f}")

points, labels = spirals(256, seed=-1 % 2**32)
right = np.mean(np.argmax(predict(params, points), axis=1) == labels)
print("learned" if right > 0.95 else "not learned")

np.save("points.npy", points)
arrays = {f"params[{i}]['{k}']": v for i, layer in enumerate(params) for k, v in layer.items()}
np.savez("inputs.npz", points=points, **arrays)
