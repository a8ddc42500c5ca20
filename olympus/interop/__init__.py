"""Programs of other libraries and formats: each module needs its library, and is imported alone."""
