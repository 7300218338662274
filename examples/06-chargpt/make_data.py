#!/usr/bin/env python3
"""Writes the verses of the King James Bible, a line each, from what Debian's bible-kjv prints, as rows of bytes into the folder given: train.npy
(u8 [16000, 129], rows at random places of the first nine tenths) and valid.npy (the last tenth, cut into rows that share one character). Prints how
many bits a character a trigram model needs on the last tenth. No package beyond Python's own is needed."""
import collections
import math
import os
import random
import struct
import subprocess
import sys

STEPS, BATCH, T = 1000, 16, 128


def write(path, rows):
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + b"".join(rows))


def trigram_bits(train, valid):
    """Counts of what follows two characters, mixed with those of shorter contexts (Witten and Bell 1991)."""
    counts = [collections.defaultdict(collections.Counter) for _ in range(3)]
    for order, table in enumerate(counts):
        for i in range(order, len(train)):
            table[train[i - order:i]][train[i]] += 1
    sums = [{key: (sum(after.values()), len(after)) for key, after in table.items()} for table in counts]

    def probability(context, symbol):
        p = 1 / 256
        for order in range(3):
            key = context[len(context) - order:]
            if key in sums[order]:
                total, kinds = sums[order][key]
                p = (counts[order][key][symbol] + kinds * p) / (total + kinds)
        return p

    bits = -sum(math.log2(probability(valid[i - 2:i], valid[i])) for i in range(2, len(valid)))
    return bits / (len(valid) - 2)


folder = sys.argv[1] if len(sys.argv) > 1 else "."
printed = subprocess.run(["bible", "-f", "Gen1:1-Rev22:21"], check=True, stdout=subprocess.PIPE).stdout
text = b"".join(line.split(b" ", 1)[1] for line in printed.splitlines(keepends=True))  # "Ge1:1 In the beginning ..."
cut = len(text) * 9 // 10
train, valid = text[:cut], text[cut:]
generator = random.Random(0)
starts = [generator.randrange(len(train) - T) for _ in range(STEPS * BATCH)]
write(os.path.join(folder, "train.npy"), [train[at:at + T + 1] for at in starts])
write(os.path.join(folder, "valid.npy"), [valid[at:at + T + 1] for at in range(0, len(valid) - T, T)])
print("trigram: %.4f" % trigram_bits(train, valid))
