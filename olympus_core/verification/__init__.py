"""Are the numbers of a program right?

A program is run operation by operation beside a float64 run of NumPy, and its compiled form is
compared with that.  The first operation that is wrong is found, with the line that it stands at.
"""
