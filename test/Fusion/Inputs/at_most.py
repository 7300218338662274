#!/usr/bin/env python3
"""at_most.py PLAN ENTRY N: fails unless an entry of a plan has at most N launches, and no copy."""
import re
import sys

path, entry, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(path) as file:
    body = re.search(r"plan\.entry @%s (.*?)(plan\.entry|\Z)" % entry, file.read(), re.S).group(1)
launches, copies = len(re.findall(r"plan\.launch ", body)), len(re.findall(r"plan\.copy ", body))
print("%d launches, %d copies" % (launches, copies))
assert 0 < launches <= most and copies == 0
