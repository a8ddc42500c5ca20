"""First-order primitives, one module for each family; `ir/primitive.py` defines `Primitive`."""
