import olympus as ox

jnp, lax = ox.numpy, ox.lax

lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), ("NCH", "OIW", "NCH"))
# ShapeError: convolution dimension_numbers elements must each have the same set of spatial characters, got ('NCH', 'OIW', 'NCH').
