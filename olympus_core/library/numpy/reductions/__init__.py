"""Sums, statistics and histograms: many elements give one number."""
