import numpy as np

import olympus as ox

ox.numpy.linalg.cond(np.zeros((0, 2)))
# ShapeError: cond needs matrices with elements, and got shape (0, 2)
