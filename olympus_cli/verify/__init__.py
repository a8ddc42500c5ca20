"""The work of `olympus verify`: the references of a target, the comparisons, and their report."""
