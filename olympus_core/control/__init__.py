"""Primitives whose parameters are programs, and the staging of these programs.

They are above the transformations, because their rules are transformations of the programs:
`call` (a nested `jit`), `cond`, `while_loop` and `scan`.  The values that a body closes over are
passed as leading operands, so that a nested program has no constants.
"""
