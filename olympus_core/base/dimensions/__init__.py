"""Symbolic dimensions: sizes of arrays that are expressions in named variables.

`terms`         factors and products, the parts of an expression, in a canonical order
`expression`    `SymbolicDim` and its arithmetic
`linear`        the least value of a linear form under linear inequalities
`bounds`        the least and the largest value of an expression
`parsing`       expressions, shapes and constraints as text
`scope`         `SymbolicScope`: the constraints on the variables
`shapes`        `symbolic_shape`
`solving`       the values of the variables, and the checks of the arguments of a call
`points`        values of the variables that fulfill the constraints
"""
