"""What was measured of a program kernel by kernel: as data, a table, a page and a trace file."""
