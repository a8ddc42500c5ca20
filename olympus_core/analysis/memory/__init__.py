"""The memory of a compiled program: buffers, live ranges and bounds."""
