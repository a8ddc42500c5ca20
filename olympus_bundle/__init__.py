"""The reader of `.olympus` bundles: files, manifests and weights, verified, without a runtime.

It imports NumPy, and jaxlib nowhere.
"""
