"""Special functions built from functions of `olympus.numpy`, for other namespaces."""
