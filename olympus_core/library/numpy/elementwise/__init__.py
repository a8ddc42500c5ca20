"""Elementwise mathematical, logical and bitwise functions."""
