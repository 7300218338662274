#!/usr/bin/env python3
"""Fails unless FILE is well-formed SVG with a line drawn through at least ten points: check_svg.py FILE"""
import re
import sys
import xml.etree.ElementTree as ElementTree

root = ElementTree.parse(sys.argv[1]).getroot()
assert root.tag.endswith("svg"), root.tag
lines = [node.get("points") or node.get("d") for node in root.iter() if node.get("points") or node.get("d")]
longest = max(len(re.findall(r"-?\d+(?:\.\d+)?[ ,]-?\d+(?:\.\d+)?", line)) for line in lines)
print("%d points" % longest)
assert longest >= 10
