"""The loaded programs, and their loading.

`program`, `fixed_loader`               a program of fixed sizes, and the choice of its executable
`bucket_program`                        programs of several numbers of rows
`symbolic_program`, `symbolic_loader`   a program for all sizes, and its compilation for some
`refining`                              symbolic StableHLO with static shapes, by MLIR
`result_store`                          the user's folder of programs that were compiled for sizes
`bound_program`                         a program with weights
`accelerators`                          the runtimes of attached GPUs and TPUs
`load`                                  `load`
"""
