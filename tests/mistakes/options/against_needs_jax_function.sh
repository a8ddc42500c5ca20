olympus bench program.py:f --shapes "f32[3]" --against jax
# exit 2
# note: the measuring of 1 program takes up to 20 s, or 80 s if it is repeated; the start, imports, compilation and first call of 10 to 40 processes come on top; each of 5 rounds of a comparison in turns has at least 4 pairs of samples, whatever the time limit
# error: --against jax needs a JAX function, and target 'f' has f, which JAX does not trace
# hint: a function that both can trace needs frontend = "jax" in its table of olympus.toml
olympus bench program.py:f --shapes "f32[3]" --against torch
# exit 2
# error: invalid value for '--against': 'torch' is not 'jax'
# hint: olympus bench --help lists its arguments and options
olympus bench program.py:f --shapes "f32[3]" --against jax --baseline main
# exit 2
# error: --against cannot be combined with --baseline: each is the other side
olympus bench program.py:f --shapes "f32[3]" --threshold 5%
# exit 2
# error: --threshold needs --baseline or --against
# hint: add --baseline NAME, FILE or git:REV, the other side of the comparison
olympus bench step.mlir --against jax
# exit 2
# error: --against jax needs a JAX function, and target 'step' has step.mlir, which JAX does not trace
