"""Array manipulation, as in NumPy's manual: shapes, orders, joining, splitting."""
