"""Decompositions and solutions of matrices, a module a decomposition."""
