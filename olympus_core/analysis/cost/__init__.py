"""The count of operations and bytes of a StableHLO module."""
