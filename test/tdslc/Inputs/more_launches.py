#!/usr/bin/env python3
"""Fails unless the step of the second plan launches more kernels than that of the first."""
import re
import sys


def launches(path):
    with open(path) as file:
        body = re.search(r"plan\.entry @train(.*?)(plan\.entry|\Z)", file.read(), re.S).group(1)
    return len(re.findall(r"plan\.launch ", body))


fused, unfused = map(launches, sys.argv[1:])
print("%d launches, %d without fusion" % (fused, unfused))
assert 0 < fused < unfused
