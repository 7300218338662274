"""Checks the table at the end of docs/Language.md: three filled cells a row, examples and tests that exist."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
text = (root / "docs/Language.md").read_text()
table = text.split("## Where each feature is shown and tested", 1)[1]
rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| ---")][1:]
assert len(rows) >= 40, f"only {len(rows)} rows"

known = set()
for source in (root / "test/Unit").rglob("*.cpp"):
    for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", source.read_text(), re.MULTILINE):
        known.add(f"{suite}.{name}")

problems = []
for row in rows:
    # A bar inside of backquotes is none of the table.
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    if len(cells) != 3 or not all(cells):
        problems.append(f"not three filled cells: {row}")
        continue
    for example in re.findall(r"`([^`]+)`", cells[1]) or [None]:
        places = [root / folder / example for folder in ("examples", "test/Unit/Frontend/Inputs", "test")] if example else []
        if not any(place.exists() for place in places):
            problems.append(f"no example {example}: {row}")
    for test in re.findall(r"`([^`]+)`", cells[2]) or [None]:
        if test not in known and not (test and "/" in test and (root / "test" / test).exists()):
            problems.append(f"no test {test}: {row}")
print("\n".join(problems))
sys.exit(bool(problems))
