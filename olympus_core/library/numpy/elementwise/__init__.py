"""Mathematical, logical and bitwise functions of each element."""
