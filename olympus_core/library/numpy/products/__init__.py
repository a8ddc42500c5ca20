"""Products of arrays: the part of linear algebra that every program imports."""
