#!/usr/bin/env python3
"""Writes ones.npy and zeros.npy, f32 [8, 4], into the folder given."""
import os
import struct
import sys

for name, value in (("ones.npy", 1.0), ("zeros.npy", 0.0)):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 4), }"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(os.path.join(sys.argv[1], name), "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack("<32f", *[value] * 32))
