"""Special functions that are made of functions of `olympus.numpy`, for other namespaces."""
