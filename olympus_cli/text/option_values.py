"""The values of options and olympus.toml keys that have only a few.

They are the values of `olympus.stages` and of the reports, which a command's help does not load.
"""

#: The optimization profiles of the compiler; the first is the default.
OPTIMIZE = ("default", "fast-build")
#: The modes of outlining repeated blocks; the first is the default.
REPEATS = ("auto", "off")
#: The implementations of decompositions of matrices; the first is the default.
LINALG = ("auto", "portable")
#: The places of the weights of an ONNX model; the first is the default.
WEIGHTS = ("constants", "arguments")
#: The forms of a gate's report; the first is the default.
FORMATS = ("text", "json", "junit", "github", "gitlab", "markdown")
