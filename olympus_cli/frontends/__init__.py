"""From an entry to a program that can be traced."""
