"""First-order primitives, a module a family; see `primitive.py` for what a primitive is."""
