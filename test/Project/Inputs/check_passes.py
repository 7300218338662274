"""Fails where a pass lacks a test, a statistic that counts or a page. For each `def … : Pass<"tds-NAME", …>` of include/**/Passes.td there must be

- NAME.mlir or NAME-*.mlir in the tests of its stage whose RUN lines run the pass: what it does. One of its statistics counts there;
- a comment `Refused: …` in them: what it leaves as it is;
- NAME-errors.mlir: what it reports as an error, unless its description says "It reports no errors.";
- IR before and after in its description, and its name on a page of docs/."""

import re
import subprocess
import sys
from pathlib import Path

PASS = re.compile(r'^def \w+ : Pass<"(tds-([\w-]+))".*?^}', re.M | re.S)


def run_lines(text):
    return re.findall(r"RUN: *(.*)", text)


def counts(flag, path, line):
    """Whether a statistic of the pass is above 0 when the command of a RUN line runs, without what checks its output."""
    command = line.split("|")[0].split(" 2>")[0].split(">")[0].replace("%s", str(path)).replace("%S", str(path.parent))
    done = subprocess.run(command + " -mlir-pass-statistics -o /dev/null", shell=True, capture_output=True, text=True)
    return re.search(rf"^{flag} +\S+ +[1-9]", done.stderr, re.M)


def faults_of(source, stage, flag, name, declaration, pages):
    folder = source / "test" / stage
    # `Transforms/mark` does not test `mark-phases`, but `differentiate-generic` tests `differentiate`.
    own = sorted(p for p in folder.rglob("*.mlir") if re.fullmatch(rf"{name}(-[\w-]+)?\.mlir", p.name))
    errors = [p for p in own if p.name == f"{name}-errors.mlir"]
    runs = re.compile(rf"-{{0,2}}\b{flag}\b(?!-)")
    texts = {p: p.read_text() for p in own}
    lines = {p: [line for line in run_lines(t) if runs.search(line)] for p, t in texts.items()}
    positive = [p for p in own if p not in errors and any("FileCheck" in line or ">" in line for line in lines[p])]
    if not positive:
        yield f"no test {stage}/{name}.mlir that runs it"
    if not any(re.search(r"// Refused: \w", t) for t in map(texts.get, positive)):
        yield "no `// Refused: …` in its tests: what does it leave as it is?"
    if "It reports no errors." not in re.sub(r"\s+", " ", declaration):
        if not errors:
            yield f"no test {name}-errors.mlir, and its description does not say `It reports no errors.`"
        for path in errors:
            expects = "expected-error" in texts[path] and any("verify-diagnostics" in line for line in lines[path])
            if not expects and not any(line.startswith("not ") and "FileCheck" in line for line in lines[path]):
                yield f"{path.name} expects no error of it"
    elif errors:
        yield "its description says that it reports no errors, which a test does not"
    if "Statistic<" not in declaration:
        yield "no statistic"
    elif positive and not any(counts(flag, p, line) for p in positive for line in lines[p]):
        yield "its statistics count nothing in its tests"
    if declaration.count("```mlir") < 2:
        yield "its description does not show IR before and after"
    if not any(f"`{flag}`" in page for page in pages):
        yield "no page of docs/ tells of it"


def main(source):
    pages = [p.read_text() for p in (source / "docs").glob("*.md")]
    passes = faults = 0
    for file in sorted((source / "include" / "tdsl").rglob("Passes.td")):
        for match in PASS.finditer(file.read_text()):
            passes += 1
            for fault in faults_of(source, file.parent.name, match[1], match[2], match[0], pages):
                faults += 1
                print(f"{match[1]}: {fault}")
    print(f"{passes} passes, {faults} faults")
    return 1 if faults or passes < 20 else 0


sys.exit(main(Path(sys.argv[1])))
