"""The steps from an entry to a program that can be traced."""
