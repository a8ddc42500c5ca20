"""The cost and the memory of programs, by source line, and estimates of their time."""
