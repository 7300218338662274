#!/usr/bin/env python3
"""Fails unless FILE is a JSON list of one error with this code, at this line and column: FILE CODE LINE COLUMN"""
import json
import sys

with open(sys.argv[1]) as file:
    found = json.load(file)
assert len(found) == 1, found
assert found[0]["severity"] == "error" and found[0]["code"] == sys.argv[2], found[0]
place = found[0]["range"]
assert (place["line"], place["column"]) == (int(sys.argv[3]), int(sys.argv[4])), place
assert place["file"].endswith(".tds") and place["length"] > 0 and found[0]["message"], found[0]
