import olympus as ox

jnp, lax = ox.numpy, ox.lax

lax.conv_shape_tuple((1, 2, 5), (3, 2, 2), (1,), [(0, 0), (0, 0)])
# ShapeError: Wrong number of explicit pads for convolution: expected 1, got 2: ((0, 0), (0, 0))
