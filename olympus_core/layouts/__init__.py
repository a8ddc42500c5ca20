"""The order in memory of the axes of arrays in a program for the CPU."""
