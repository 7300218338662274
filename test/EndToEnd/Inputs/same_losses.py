#!/usr/bin/env python3
"""Fails where two files of metrics differ in a step's figures by more than a part: same_losses.py PART FILE FILE"""
import json
import sys

part = float(sys.argv[1])
runs = []
for path in sys.argv[2:]:
    with open(path) as file:
        runs.append([json.loads(line) for line in file])
assert len(runs) == 2 and len(runs[0]) == len(runs[1]) > 3, [len(run) for run in runs]
for one, other in zip(*runs):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if name != "seconds":
            assert abs(value - other[name]) <= part * abs(value), (one, other)
