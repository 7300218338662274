#!/usr/bin/env python3
"""Prints characters that the trained model makes, one call of its entry `next` for each:

    generate.py chargpt.so chargpt.safetensors [count] [tds-run]
"""
import array
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

T = 128
artefact, checkpoint = sys.argv[1:3]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
program = sys.argv[4] if len(sys.argv) > 4 else "tds-run"
text = b"And it came to pass in those days, that the word of the LORD came unto the king, saying, Go up against the city which is before \n"
generator = random.Random(0)
with tempfile.TemporaryDirectory() as folder:
    context, scores = os.path.join(folder, "ids.npy"), os.path.join(folder, "scores.npy")
    for _ in range(count):
        ids = text[-T:].rjust(T)
        header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, %d), }" % T
        header += " " * (63 - (len(header) + 10) % 64) + "\n"
        with open(context, "wb") as out:
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + ids)
        subprocess.run([program, "predict", artefact, "--entry", "next", "--checkpoint", checkpoint, "--data", "ids=" + context, "-o", scores],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(scores, "rb") as file:
            data = file.read()
        values = array.array("f", data[10 + struct.unpack("<H", data[8:10])[0]:])
        top = max(values)
        weights = [math.exp((v - top) / 0.8) for v in values]
        text += bytes(generator.choices(range(len(weights)), weights))
print(text[-count:].decode("latin-1"))
