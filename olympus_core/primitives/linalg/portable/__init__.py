"""Decompositions written on primitives, for platforms without LAPACK; a module an algorithm.

Each is a Python function of arrays that a primitive's `lower` gives to `LoweringContext.apply`,
which runs it and emits what it binds as one function of the module.  So it is written once, for
every platform, beside the primitives that it serves, and a loop in it is an operation of the
program, not a program of its own.  Nothing else runs these functions: derivatives and batches are
the primitive's.

Matrices are the last two axes, and all axes before are batch axes.
"""
