"""Lowering of Olympusprs to StableHLO modules."""
