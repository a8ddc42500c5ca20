"""`olympus.lax`: thin functions on the primitives, whose operands must have one dtype."""
