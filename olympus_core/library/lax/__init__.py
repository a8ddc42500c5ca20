"""`olympus.lax`: thin functions on the primitives, which ask for operands of one dtype."""
