#!/usr/bin/env python3
"""Reads .safetensors files and asks questions about them; Python's standard library only.

    tensors.py close FILE NAME 2,-3,0.5 TOLERANCE     every element lies within TOLERANCE (absolute) of the number given for it
    tensors.py only-differ A B GLOB[,GLOB...]         of the variables that both files have, without optimiser state and counters, those that
                                                      match a glob differ and all others are equal bit by bit
"""
import fnmatch
import json
import struct
import sys


def read(path):
    """The tensors of a file: name -> (type, shape, bytes)."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    body = content[8 + length :]
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            assert 0 <= begin <= end <= len(body), name
            tensors[name] = (entry["dtype"], entry["shape"], body[begin:end])
    return tensors


def close(path, name, numbers, tolerance):
    dtype, shape, data = read(path)[name]
    assert dtype == "F32", dtype
    values = struct.unpack("<%df" % (len(data) // 4), data)
    expected = [float(number) for number in numbers.split(",")]
    print("%s %s = %s" % (name, shape, list(values)))
    assert len(values) == len(expected), "%d elements, %d expected" % (len(values), len(expected))
    for value, wanted in zip(values, expected):
        assert abs(value - wanted) <= float(tolerance), "%r is not within %s of %r" % (value, tolerance, wanted)


def only_differ(first, second, globs):
    one, other = read(first), read(second)
    names = [name for name in one if name in other and not name.startswith(("opt.", "tds."))]
    changed = {name for name in names if one[name] != other[name]}
    expected = {name for name in names if any(fnmatch.fnmatchcase(name, glob) for glob in globs.split(","))}
    print("changed: %s\nunchanged: %s" % (", ".join(sorted(changed)), ", ".join(sorted(set(names) - changed))))
    assert expected and len(expected) < len(names), "the globs must take some variables and leave some"
    assert changed == expected, "expected to change: %s" % ", ".join(sorted(expected))


{"close": close, "only-differ": only_differ}[sys.argv[1]](*sys.argv[2:])
