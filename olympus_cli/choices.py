"""The words that options and keys of olympus.toml take, where there are few of them.

They are those of `olympus.stages`, which is not loaded for a command's help.
"""

__all__ = ["OPTIMIZE", "REPEATS"]

#: What the compiler's work is for; the first is the usual one.
OPTIMIZE = ("default", "fast-build")
#: Whether repeated blocks are kept; the first is the usual one.
REPEATS = ("auto", "off")
