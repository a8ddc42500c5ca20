"""Scalar types, and questions about dtypes."""
