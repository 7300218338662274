"""Fails where a kernel of `--explain`'s output reads what another one made and no reason stands there.

Usage: every_pair.py FILE LEAST; FILE has at least LEAST pairs.
"""
import sys

pairs = [line.strip() for line in open(sys.argv[1]) if line.strip().startswith("reads ") and " of tds_" in line]
bare = [line for line in pairs if ", not joined: " not in line]
for line in bare:
    print("no reason:", line)
print(len(pairs), "pairs,", len(bare), "without a reason")
sys.exit(len(pairs) < int(sys.argv[2]) or bool(bare))
