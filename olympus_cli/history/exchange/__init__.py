"""Figures in files of other tools: pytest-benchmark's JSON, hyperfine's JSON, and CSV."""
