"""The resolution of the times of files."""

#: Nanoseconds in which a second change of a file may get the same time as the first: the clock of
#: Linux's file systems advances every 4 or 10 milliseconds.
TICK = 20_000_000
