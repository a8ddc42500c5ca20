"""`checkify`: errors of a program as values, from checks of the user and automatic ones."""
