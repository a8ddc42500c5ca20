import olympus as ox

jnp, lax = ox.numpy, ox.lax

lax.conv_dimension_numbers((1, 2, 3), (1, 2, 3), ("NCH", "OIW", "NCH"))
# ShapeError: dimension_numbers must share their space axes: NCH, OIW, NCH
