"""Scalar types, and queries of dtypes."""
