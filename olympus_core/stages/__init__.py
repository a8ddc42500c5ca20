"""The stages of a program: Traced, Lowered and Compiled."""
