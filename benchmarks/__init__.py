"""Side-by-side measurements: the same program source under olympus and under jax."""
