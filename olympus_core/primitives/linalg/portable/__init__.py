"""Decompositions written on primitives, for platforms without LAPACK; one module an algorithm.

Each is a Python function of arrays that a primitive's `lower` passes to `LoweringContext.apply`,
which runs it and emits the equations that it binds as one function of the module.  So one source
serves every platform, next to the primitives that use it, and a loop in it is an operation of the
program, not a separate program.  No other code runs these functions: derivatives and batches
belong to the primitive.

Matrices are the last two axes, and all axes before are batch axes.
"""
