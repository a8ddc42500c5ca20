"""jaxlib's MLIR bindings and the Shardy dialect."""
