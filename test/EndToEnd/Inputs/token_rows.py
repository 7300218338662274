#!/usr/bin/env python3
"""Writes 40 rows of 6 random bytes below 11 as a .npy file: token_rows.py FILE"""
import random
import struct
import sys

random.seed(0)
header = "{'descr': '|u1', 'fortran_order': False, 'shape': (40, 6), }"
header += " " * (118 - len(header) - 1) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(random.randrange(11) for _ in range(240)))
