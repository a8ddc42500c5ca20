"""What a program costs and needs: counted from its operations, told by the user's lines."""
