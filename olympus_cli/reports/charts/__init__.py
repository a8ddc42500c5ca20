"""Plots as text."""
