#!/usr/bin/env python3
"""profile_bytes.py EXPLAINED PROFILE STEPS: fails unless STEPS steps moved as many bytes by the profile as by the report, to its three digits."""
import re
import sys

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def number(text):
    value, unit = text.split()
    return float(value) * UNITS[unit]


with open(sys.argv[1]) as file:
    step = number(re.search(r"^train: .*?moves ([\d.]+ \w+)", file.read(), re.M)[1])
with open(sys.argv[2]) as file:
    whole = number(re.search(r"^all kernels .* % +([\d.]+ \w+)", file.read(), re.M)[1])
print("a step moves %d bytes by the report, %d by the profile" % (step, whole / int(sys.argv[3])))
assert abs(whole / int(sys.argv[3]) / step - 1) < 0.01
