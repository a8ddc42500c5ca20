"""The compiler: tracing, the IR, its transformations, lowering to StableHLO, and the stages."""
