"""One module a command: parse, call, show.  `main.py` imports them one at a time, when invoked."""
