"""Train the GPT that `olympus build` compiled. Nothing is traced or compiled here."""

from pathlib import Path

import numpy as np

from olympus import artifact

here = Path(__file__).parent
init, step = (artifact.load(here / f"build/{name}/{name}.olympus") for name in ("init", "step"))
start, train = init.compiled(), step.compiled()
batch, length = step.manifest.signature.arguments[-1].shape
text = np.frombuffer((here / "text.txt").read_bytes(), np.uint8).astype(np.int32)
rng = np.random.default_rng(0)
state = start()
for i in range(1001):
    first = rng.integers(len(text) - length, size=(batch, 1))
    state, loss = train(state, text[first + np.arange(length)])
    if i % 100 == 0:
        print(f"step {i:4d}: loss {float(loss):.3f}")
