#!/usr/bin/env python3
"""speed.py FOLDER: writes programs of 2,500 to 10,000 lines and measures what `tdslc --emit=tds` takes, start-up and printing left out."""
import os
import pathlib
import re
import subprocess
import sys

FUNCTION = """fn row{k}(x: f32[n, m], w: f32[m, m]) -> f32[n, m] {{
  let a = x @ w + {k}
  let b = exp(a - max(a, axis = 1, keep = true))
  let s[i] = sum[j](b[i, j])
  let y[i, j] = b[i, j] / s[i]
  dim half = n // 2
  let z = if half > 1 {{ y * 2 }} else {{ y }}
  let q = z + transpose(transpose(y))
  if q > 0.5 then q else x
}}
"""
LINES_EACH = FUNCTION.count("\n") + 1


def write(path, lines):
    count = (lines - 6) // LINES_EACH
    text = "dim B = 8\n\n" + "".join(FUNCTION.format(k=k) for k in range(count))
    text += "export fn all(x: f32[B, 4], w: f32[4, 4]) -> f32[B, 4] {\n  let x0 = x\n"
    text += "".join(f"  let x{k + 1} = row{k}(x{k}, w)\n" for k in range(count))
    text += f"  x{count}\n}}\n"
    path.write_text(text)
    return text.count("\n")


def measure(path):
    """Processor time of the front end in seconds, and the most memory in MiB."""
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen(["tdslc", str(path), "--emit=tds", "--time", "-o", os.devnull], stdout=nothing, stderr=subprocess.PIPE, text=True)
        report = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, report
    for line in report.splitlines():
        if line.endswith("front end"):
            numbers = re.findall(r"(\d+\.\d+) \(", line)
            # user, system, both, wall
            return float(numbers[2]), usage.ru_maxrss / 1024
    raise SystemExit(f"no time of the front end in\n{report}")


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
print(" lines  seconds  MiB")
results = {}
for lines in (20, 2500, 5000, 10000):
    real = write(folder / f"{lines}.tds", lines)
    assert abs(real - lines) < 20, real
    # The better of two runs: the machine may be busy.
    runs = [measure(folder / f"{lines}.tds") for _ in range(2)]
    results[lines] = min(time for time, _ in runs), min(memory for _, memory in runs)
    print(f"{lines:6} {results[lines][0]:8.3f} {results[lines][1]:6.1f}")

seconds, memory = results[10000]
half = results[5000][1] - results[20][1]
whole = memory - results[20][1]
assert seconds < 1, f"{seconds} seconds for 10,000 lines"
assert whole < 2.3 * half, f"memory grows from {half} to {whole} MiB while the lines double"
print("fast and linear")
