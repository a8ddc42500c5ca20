"""Functions of `olympus.experimental`: requests to the compiler, and older interfaces."""
