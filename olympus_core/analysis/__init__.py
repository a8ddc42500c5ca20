"""What a program costs and needs: counted from its operations, by source line."""
