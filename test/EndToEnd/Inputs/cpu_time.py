#!/usr/bin/env python3
"""Fails unless a command ends well within SECONDS of processor time, in the best of three runs: cpu_time.py SECONDS COMMAND..."""
import resource
import subprocess
import sys

times = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(sys.argv[2:], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
print("%.2f s at best, %.2f s at worst" % (min(times), max(times)))
assert min(times) < float(sys.argv[1]), "that is more than %s s" % sys.argv[1]
