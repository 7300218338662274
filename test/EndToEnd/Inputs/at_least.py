#!/usr/bin/env python3
"""Reads the output of `tds-run eval` and fails unless its figure is large enough: at_least.py NAME NUMBER < output"""
import re
import sys

text = sys.stdin.read()
print(text, end="")
found = re.findall(r"^%s: (\S+)$" % re.escape(sys.argv[1]), text, re.M)
assert len(found) == 1, "one line `%s: …` expected" % sys.argv[1]
assert float(sys.argv[2]) <= float(found[0]) <= 1, "%s is not at least %s" % (found[0], sys.argv[2])
