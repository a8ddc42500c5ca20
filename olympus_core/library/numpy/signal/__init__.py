"""Signals sampled along an axis: convolution, windows, differences, interpolation."""
