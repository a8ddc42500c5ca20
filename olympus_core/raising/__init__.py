"""Raising: from a StableHLO module to an Olympuspr, the inverse of lowering.

The rule of an operation is the method `raised` of the primitive that is lowered to it.
"""
