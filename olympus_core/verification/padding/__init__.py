"""A proof that the padded rows of a program's arguments do not change the other rows.

A program for 8 rows is called with 5 rows and 3 rows of padding. It returns the first 5 rows of
each result. This is right if no real row of a result depends on a row of padding. `flow` follows
the padded rows through the equations, by the rules of `rules` and `programs`.
"""
