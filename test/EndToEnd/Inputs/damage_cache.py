"""damage_cache.py FOLDER: damages every entry of a cache, each in one of four ways, and prints how many there are."""

import pathlib
import sys

paths = sorted(pathlib.Path(sys.argv[1]).glob("*.code"))
whole = [path.read_bytes() for path in paths]
for number, path in enumerate(paths):
    entry = whole[number]
    changed = bytearray(entry)
    changed[-1] ^= 1
    path.write_bytes([entry[: len(entry) // 2], b"", bytes(changed), whole[number - 1]][number % 4])
print(len(paths))
