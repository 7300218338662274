"""compile_at_once.py CACHE FOLDER PROGRAM: compiles a program many times at once with one cache, some of the compilers killed on the way, and compares
what the others made with what one without a cache makes."""

import os
import pathlib
import subprocess
import sys
import time

cache, folder, program = sys.argv[1:]
folder = pathlib.Path(folder)


def start(name, cache):
    environment = {**os.environ, "TDS_CACHE": cache}
    return subprocess.Popen(["tdslc", program, "-o", str(folder / name)], env=environment)


assert start("plain.so", "").wait() == 0
compilers = []
for number in range(8):
    compilers.append(start("once%d.so" % number, cache))
    if number % 2:
        time.sleep(0.05 * number)
        compilers[-1].kill()
codes = [compiler.wait() for compiler in compilers]
assert codes[0::2] == [0] * 4, codes
assert any(code < 0 for code in codes), codes
plain = (folder / "plain.so").read_bytes()
for number in range(0, 8, 2):
    assert (folder / ("once%d.so" % number)).read_bytes() == plain, number
