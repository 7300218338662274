#!/usr/bin/env python3
"""Fails unless GRAPH is SVG that fits its view box and shows the title of each entry and each of its launches as PLAN has them: GRAPH PLAN"""
import re
import sys
import xml.etree.ElementTree as ElementTree

root = ElementTree.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
assert root.tag == space + "svg", root.tag
width, height = float(root.get("width")), float(root.get("height"))
for box in root.iter(space + "rect"):
    x, y, w, h = (float(box.get(name)) for name in ("x", "y", "width", "height"))
    assert 0 <= x and x + w <= width and 0 <= y and y + h <= height, "a box leaves the picture"
texts = ["".join(text.itertext()) for text in root.iter(space + "text")]

with open(sys.argv[2]) as file:
    plan = file.read()
entries = re.findall(r"^  plan\.entry @(\w+)(.*?)(?=^  plan\.entry|\Z)", plan, re.M | re.S)
assert entries
for name, body in entries:
    launches = re.findall(r"plan\.launch @(\w+)", body)
    title = [text for text in texts if text.startswith(name + ": %d launch" % len(launches))]
    assert title, "no title for %s with %d launches in %s" % (name, len(launches), texts)
    for launch in launches:
        short = re.match(r"tds_(k\d+)_", launch).group(1)
        assert any(re.search(r"\b(tds_)?%s(_|\b)" % short, text) for text in texts), "%s is not in the picture: %s" % (launch, texts)
