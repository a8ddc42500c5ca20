"""Products of arrays: what of linear algebra every program may use."""
