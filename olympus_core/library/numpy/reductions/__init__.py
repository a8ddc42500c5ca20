"""Sums, statistics and histograms: reductions of many elements to one number."""
