"""Comparison of measurements with a baseline."""
