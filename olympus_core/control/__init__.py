"""Primitives whose parameters are programs, and what stages the programs.

They stand above the transformations, because their rules are transformations of the programs:
`call` (a nested `jit`), `cond`, `while_loop` and `scan`.  What a body closes over is passed as
leading operands, so that a nested program has no constants.
"""
