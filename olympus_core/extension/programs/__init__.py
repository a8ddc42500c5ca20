"""Programs under transformations of JAX: their derivatives, batches, parts and calls."""
