#!/usr/bin/env python3
"""Compares two files of `tds-run train --metrics`: curves.py A B KEY STEPS TOLERANCE

Both hold STEPS rows with KEY, of steps 1 to STEPS, and their values agree to the relative TOLERANCE; the last value is below the first."""
import json
import sys


def read(path, key):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if key in row]
    return [row["step"] for row in rows], [row[key] for row in rows]


first, second, key, steps, tolerance = sys.argv[1:6]
(steps_a, a), (steps_b, b) = read(first, key), read(second, key)
assert steps_a == steps_b == list(range(1, int(steps) + 1)), (steps_a, steps_b)
worst = max(abs(x - y) / max(abs(x), abs(y), 1e-30) for x, y in zip(a, b))
print("%d steps, %s from %g to %g, worst relative difference %.2g" % (len(a), key, a[0], a[-1], worst))
assert worst <= float(tolerance), "%g is more than %s" % (worst, tolerance)
assert a[-1] < a[0], "nothing was learned"
