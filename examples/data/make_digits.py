#!/usr/bin/env python3
"""Makes the digits files in this folder from `digits.csv.gz`, the form in which scikit-learn's package carries the test part of
"Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, 1998, CC BY 4.0):

    make_digits.py digits.csv.gz

1,797 images of 8x8 counts 0 to 16, and their digits. The first 1,500 are for training, the last 297 for testing.
"""
import csv
import gzip
import io
import struct
import sys


def write(name, magic_type, shape, data):
    header = struct.pack(">HBB", 0, magic_type, len(shape)) + b"".join(struct.pack(">I", n) for n in shape)
    with open(name, "wb") as out:
        with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as packed:
            packed.write(header + data)


rows = list(csv.reader(io.TextIOWrapper(gzip.open(sys.argv[1]))))
for part, chosen in (("train", rows[:1500]), ("test", rows[1500:])):
    images = bytes(int(float(value)) for row in chosen for value in row[:64])
    labels = bytes(int(float(row[64])) for row in chosen)
    write("digits-%s-images.idx.gz" % part, 8, (len(chosen), 8, 8), images)
    write("digits-%s-labels.idx.gz" % part, 8, (len(chosen),), labels)
