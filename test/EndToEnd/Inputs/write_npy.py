#!/usr/bin/env python3
"""write_npy.py FILE NUMBER...: a vector of f32 as .npy; Python's standard library only."""
import struct
import sys

numbers = [float(word) for word in sys.argv[2:]]
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{len(numbers)}f", *numbers))
