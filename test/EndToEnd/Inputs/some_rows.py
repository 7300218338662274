#!/usr/bin/env python3
"""Writes the first rows of IDX files as .npy: some_rows.py ROWS FROM TO [FROM TO ...]"""
import gzip
import struct
import sys

rows = int(sys.argv[1])
for source, target in zip(sys.argv[2::2], sys.argv[3::2]):
    with gzip.open(source) as file:
        kind, rank = file.read(4)[2:]
        assert kind == 8
        shape = struct.unpack(">%dI" % rank, file.read(4 * rank))
        size = rows
        for extent in shape[1:]:
            size *= extent
        data = file.read(size)
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(str(n) for n in (rows,) + shape[1:])
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(target, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
