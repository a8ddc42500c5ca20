"""Write the items of the server: a thousand embeddings of unit variance."""

import numpy as np

np.random.default_rng(0).standard_normal((1000, 64), np.float32).tofile("items.bin")
