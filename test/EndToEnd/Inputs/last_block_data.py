#!/usr/bin/env python3
"""last_block_data.py FILE ROWS COLUMNS: a matrix of f32 as .npy, the same every time; Python's standard library only."""
import array
import random
import struct
import sys

rows, columns = int(sys.argv[2]), int(sys.argv[3])
generator = random.Random(5)
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    array.array("f", (generator.gauss(1, 2) for _ in range(rows * columns))).tofile(file)
