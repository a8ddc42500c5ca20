"""What changed between two programs, wherever they are: the sides, the comparison, its forms."""
