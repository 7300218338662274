#!/usr/bin/env python3
"""gather_factor.py FOLDER: good.npy with 512 numbers of rows (i32) of a table of four, and bad.npy where one is out of range."""
import os
import struct
import sys

good = [(7 * i) % 4 for i in range(512)]
bad = good[:300] + [4] + good[301:]
for name, numbers in (("good", good), ("bad", bad)):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (512,), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(os.path.join(sys.argv[1], name + ".npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<512i", *numbers))
