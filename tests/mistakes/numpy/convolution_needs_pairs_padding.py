import olympus as ox

jnp, lax = ox.numpy, ox.lax

lax.conv_shape_tuple((1, 2, 5), (3, 2, 2), (1,), [(0, 0), (0, 0)])
# ShapeError: a convolution needs 1 pairs of padding, and got ((0, 0), (0, 0))
