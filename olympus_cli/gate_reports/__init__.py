"""The results of checks, comparisons and benchmarks in the formats of other tools."""
