"""The words that options and keys of olympus.toml take, where there are few of them.

They are those of `olympus.stages` and of the reports, which are not loaded for a command's help.
"""

__all__ = ["FORMATS", "GIVEN", "OPTIMIZE", "REPEATS"]

#: What the compiler's work is for; the first is the usual one.
OPTIMIZE = ("default", "fast-build")
#: Whether repeated blocks are kept; the first is the usual one.
REPEATS = ("auto", "off")
#: The forms in which a gate tells what it found; the first is the usual one.
FORMATS = ("text", "json", "junit", "github", "gitlab", "markdown")
#: The key of `click.Context.meta` for the words of the command line, for hints about them.
GIVEN = "olympus.given"
