"""The loaded programs, and their loading.

`program`            a loaded program of fixed sizes
`symbolic_program`   one for all sizes
`refining`           symbolic StableHLO with static shapes, by MLIR, which only this imports
`result_store`       the user's folder of programs that were compiled for sizes
`load`               `load`
"""
