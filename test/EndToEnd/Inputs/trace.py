#!/usr/bin/env python3
"""Checks a trace and the table of the same run: trace.py TRACE TABLE STEPS [OVERLAP]

The times and operations of the kernels add up to those of the table, every kernel has its source line, and at least OVERLAP of the uploads begin
before the step before them ends."""
import json
import re
import sys

with open(sys.argv[1]) as file:
    events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
steps = int(sys.argv[3])
kernels = [event for event in events if event["cat"] == "kernel"]
assert kernels and all(re.search(r"(\.tds|<\w+>):\d+:\d+$", event["args"]["source"]) for event in kernels), kernels[:3]
calls = {}
for event in kernels:
    calls.setdefault(event["args"]["call"], []).append(event)
assert len(calls) == steps, (len(calls), steps)
assert sum(1 for event in events if event["name"] == "call") == steps

# The table says times with three digits.
units = {"us": 1e-6, "ms": 1e-3, "s": 1}
rows, total = {}, None
with open(sys.argv[2], encoding="latin-1") as file:
    for line in file:
        match = re.match(r"(.{36}) .{22} +(\d+) +([\d.]+) (us|ms|s) ", line)
        if not match:
            continue
        seconds = float(match[3]) * units[match[4]]
        if match[1].strip() == "all kernels":
            total = int(match[2]), seconds
            # The last column is GFLOP/s, with the share of what the device reaches.
            rate = float(re.search(r"([\d.e+-]+) \(\d+ %\)\s*$", line)[1]) * 1e9
        else:
            rows.setdefault(match[1].strip(), []).append((int(match[2]), seconds))
assert total and rows
assert total[0] == len(kernels) == sum(row[0] for same in rows.values() for row in same)
recorded = sum(event["dur"] for event in kernels) * 1e-6
assert abs(recorded - total[1]) <= 0.01 * recorded, (recorded, total)
operations = sum(event["args"].get("flops", 0) for event in kernels)
assert operations > 0 and abs(operations / recorded - rate) <= 0.01 * rate, (operations, recorded, rate)

if len(sys.argv) > 4:
    uploads = {event["args"]["call"]: event for event in events if event["name"] == "upload"}
    assert set(uploads) == set(calls)
    order = sorted(calls)
    early = 0
    for before, call in zip(order, order[1:]):
        end = max(event["ts"] + event["dur"] for event in calls[before])
        early += uploads[call]["ts"] < end
    share = early / (len(order) - 1)
    print("%.0f %% of the uploads began before the step before them ended" % (100 * share))
    assert share >= float(sys.argv[4]), share
print("%d kernels in %d steps, %.3g s" % (len(kernels), steps, recorded))
