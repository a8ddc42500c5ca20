"""What a program costs and needs: figures from the compiler's results, by the user's lines."""
