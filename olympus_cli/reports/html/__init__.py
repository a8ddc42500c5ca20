"""`report.html`: one file with all results of a build of a target, for use without a network.

`page` defines the contents, `gather` collects them, `render` writes the file.
"""
