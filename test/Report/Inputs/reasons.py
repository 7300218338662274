"""Fails where --explain shows a launch that reads what another one made, and does not say why the two are not one kernel: EXAMPLES

Every example, on the GPU and the CPU, in f32 and with 16-bit floats; those with layers unrolled and as loops."""
import pathlib
import re
import subprocess
import sys

MODES = [[], ["--amp=bf16"]]
LAYERS = [["--roll-layers=0"], ["--roll-layers=2"], ["--roll-layers=2", "--amp=bf16"]]
OTHERS = {
    "chargpt": LAYERS + [["--memory-budget=60%"]],
    "lenet": [["--amp=f16"], ["--check-numerics"], ["--accum=4"]],
    "lstm": [["--amp=f16"]],
}

examples = sorted(pathlib.Path(sys.argv[1]).glob("*/*.tds"))
assert len(examples) >= 12, examples
faults = 0
for example in examples:
    for mode in MODES + OTHERS.get(example.stem, []):
        run = subprocess.run(["tdslc", example, "--explain", *mode], capture_output=True, text=True)
        reads = re.findall(r"^    reads .*", run.stdout, re.M)
        without = [line for line in reads if not re.search(r", not joined: \w", line)]
        loops = len(re.findall(r"\[\w+ [\d.]*\d\.\d", run.stdout))
        print(f"{example.name} {' '.join(mode)}: {len(reads)} pairs, {len(without)} without a reason, {loops} kernels in loops")
        faults += run.returncode != 0 or not reads or bool(without)
        if run.returncode != 0 or without:
            print(run.stderr, *without[:5], sep="\n")
        if "--roll-layers=2" in mode or example.stem == "lstm":
            assert loops, "no kernel stands in a loop"
sys.exit(faults != 0)
