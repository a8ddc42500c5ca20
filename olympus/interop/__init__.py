"""Programs of other libraries: each module is imported by itself, and needs its library."""
