#!/usr/bin/env python3
"""Writes x.npy (f32 [4096, 4]) and y.npy (f32 [4096]) into the folder given: y = x . (2, -3, 0.5, 1) + 0.75, without noise, so that the
weights to be found are known exactly. No package beyond Python's own is needed."""
import os
import random
import struct
import sys

WEIGHTS, BIAS, ROWS = (2.0, -3.0, 0.5, 1.0), 0.75, 4096


def write(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (repr(shape),)
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack("<%df" % len(values), *values))


folder = sys.argv[1] if len(sys.argv) > 1 else "."
generator = random.Random(0)
rows = [[generator.gauss(0, 1) for _ in WEIGHTS] for _ in range(ROWS)]
write(os.path.join(folder, "x.npy"), (ROWS, len(WEIGHTS)), [value for row in rows for value in row])
write(os.path.join(folder, "y.npy"), (ROWS,), [sum(a * b for a, b in zip(row, WEIGHTS)) + BIAS for row in rows])
