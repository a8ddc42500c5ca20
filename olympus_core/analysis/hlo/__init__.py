"""The kernels of an optimized program and the estimate of their time."""
