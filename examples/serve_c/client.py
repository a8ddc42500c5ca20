"""Search for the items that are nearest to one of items.bin: client.py SOCKET ROW."""

import socket
import sys

import numpy as np

items = np.fromfile("items.bin", np.float32).reshape(1000, 64)
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    connection.sendall(items[int(sys.argv[2])].tobytes())
    reply = connection.makefile("rb").read(5 * 4 + 5 * 4)
scores, rows = np.frombuffer(reply[:20], np.float32), np.frombuffer(reply[20:], np.int32)
for row, score in zip(rows, scores, strict=True):
    print(f"{row:4d} {score:.3f}")
