#!/usr/bin/env python3
"""Assembles PTX with `ptxas -v` and fails on an error, a warning, a spill, or a file without kernels: spills.py ARCH FILE"""
import re
import subprocess
import sys

arch, path = sys.argv[1:]
run = subprocess.run(["ptxas", "-v", "-arch=" + arch, path, "-o", path + ".cubin"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(run.stdout)
assert run.returncode == 0, "ptxas gave up with %d" % run.returncode
assert not re.search(r"^ptxas (error|fatal|warning)", run.stdout, re.M | re.I)
spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", run.stdout)
with open(path) as file:
    kernels = len(re.findall(r"^\.visible \.entry ", file.read(), re.M))
assert kernels and len(spills) >= kernels, "%d kernels, %d reports" % (kernels, len(spills))
assert all(pair == ("0", "0") for pair in spills), spills
