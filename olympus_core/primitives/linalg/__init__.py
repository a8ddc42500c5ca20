"""Decompositions and solutions of matrices, one module for each decomposition."""
