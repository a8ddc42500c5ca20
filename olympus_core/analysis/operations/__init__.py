"""The table of operations of StableHLO and HLO: the cost of each, and its properties."""
