"""`report.html`: one file with all that a build knows of a target, which opens without a network.

`page` says what is shown, `gather` collects it, `render` writes the file.
"""
