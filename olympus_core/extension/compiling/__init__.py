"""Options, passes and modules of compilations, under JAX's names."""
